// Command kubectl is Kubernetes' own, of the release of the test control plane.
package main

import (
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() { util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) }
