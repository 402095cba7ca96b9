// Command upstream is what make e2e-upstream runs in addition to the test control plane, in one binary:
// kubelet, kube-scheduler, kube-controller-manager with all of its controllers, and a DNS server for
// Services. The name that it is called by is the program to be.
//
// It is a module of its own because these programs, the specs in e2e and the tools in go.mod need
// modules that nothing else here needs.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(manager.NewControllerManagerCommand()))
	case "dns":
		fmt.Fprintln(os.Stderr, "dns:", serveDNS(os.Args[1:]))
		os.Exit(1)
	default:
		fmt.Fprintf(os.Stderr, "upstream: called as %q, want kubelet, kube-scheduler, kube-controller-manager or dns\n", name)
		os.Exit(2)
	}
}
