package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/goback"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// predecessor is the value of --for.
const predecessor = "cloud-provider-openstack"

// goBack reads cloud.conf, the Services and what they have, and returns what of it
// cloud-provider-openstack does not have.
func (f *planFlags) goBack(ctx context.Context, env config.Environment, progress *screen.Screen) (*goback.Report, error) {
	inspection := config.Inspect(f.cloudConfig, env)
	if inspection.Config == nil {
		return nil, errors.Join(inspection.Problems...)
	}
	reached, err := f.kubernetes.config()
	if err != nil {
		return nil, err
	}
	namespace, err := f.kubernetes.namespace()
	if err != nil {
		return nil, err
	}
	client, err := readOnlyClient(reached, userAgent(thisBuild().version, nil))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	listed, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	session, conf, err := (&statusFlags{cloudConfig: f.cloudConfig, timeout: f.timeout}).signIn(ctx, env, progress)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	reader, err := status.New(status.Options{
		Config: conf, Session: session, Kubernetes: client, ClusterName: f.clusterName, Clock: clock.RealClock{}, Progress: progress.Progress,
	})
	if err != nil {
		return nil, err
	}
	defer progress.Progress("")
	have, err := reader.Read(ctx, status.Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	inspection.Config = conf
	return goback.Make(paired(goback.Input{ClusterName: f.clusterName, Inspection: inspection}, listed.Items, have.Services))
}

// paired adds to the input the Services of which it is known what they have.
func paired(in goback.Input, services []v1.Service, have []status.Service) goback.Input {
	named := make(map[string]*v1.Service, len(services))
	for i := range services {
		named[services[i].Namespace+"/"+services[i].Name] = &services[i]
	}
	for _, read := range have {
		if svc := named[read.Namespace+"/"+read.Name]; svc != nil { // not one that is new since
			in.Services, in.Status = append(in.Services, svc), append(in.Status, read)
		}
	}
	return in
}
