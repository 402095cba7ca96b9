package main

import (
	"io"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/cleanup"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

func verbs() cli.Verbs {
	return cli.Verbs{check.Verb(), cleanup.Verb(), plan.Verb(), status.Verb()}
}

func program(env config.Environment, out, errs io.Writer) cli.Program {
	return cli.Program{Name: programName, UserAgent: userAgent(thisBuild().version, nil), Env: env, Out: out, Errs: errs}
}
