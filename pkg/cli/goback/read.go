package goback

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// Target is the controller to go back to, the value of --for.
const Target = "cloud-provider-openstack"

// Options are what Run needs.
type Options struct {
	// CloudConfig is the path of cloud.conf, "" for the environment alone.
	CloudConfig, ClusterName string
	// Namespace limits the report, "" for all.
	Namespace string
	Client    kubernetes.Interface
	// Timeout bounds the sign-in, and all reads.
	Timeout time.Duration
}

// Run reads cloud.conf, the Services and their load balancers, and reports the differences from
// cloud-provider-openstack. It only reads.
func Run(ctx context.Context, p cli.Program, o Options) (*Report, error) {
	inspection := config.Inspect(o.CloudConfig, p.Env)
	if inspection.Config == nil {
		return nil, errors.Join(inspection.Problems...)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	listed, err := o.Client.CoreV1().Services(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	reader, end, err := status.Connect(ctx, p, status.Connection{
		CloudConfig: o.CloudConfig, ClusterName: o.ClusterName, Client: o.Client, Timeout: o.Timeout,
	})
	if err != nil {
		return nil, err
	}
	defer end()
	have, err := reader.Read(ctx, status.Query{Namespace: o.Namespace})
	if err != nil {
		return nil, err
	}
	inspection.Config = reader.Config()
	return Make(paired(Input{ClusterName: o.ClusterName, Inspection: inspection}, listed.Items, have.Services))
}

// paired adds the Services with a known status to the input.
func paired(in Input, services []v1.Service, have []status.Service) Input {
	named := make(map[string]*v1.Service, len(services))
	for i := range services {
		named[services[i].Namespace+"/"+services[i].Name] = &services[i]
	}
	for _, read := range have {
		if svc := named[read.Namespace+"/"+read.Name]; svc != nil { // unless it was created since
			in.Services, in.Status = append(in.Services, svc), append(in.Status, read)
		}
	}
	return in
}
