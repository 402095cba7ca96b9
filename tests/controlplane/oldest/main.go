// Command oldest is the kube-apiserver of the oldest release of Kubernetes that is
// supported, for the test that holds it: see docs/getting-started.md.
//
// It is a module of its own, as hyper is.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) }
