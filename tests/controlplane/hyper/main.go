// Command hyper is the test control plane in one binary: etcd, kube-apiserver and a
// kube-controller-manager. The name that it is called by is the program to be. One binary
// links once, and the programs share most of their packages.
//
// It is a module of its own because k8s.io/kubernetes must not become a
// dependency of the cloud controller manager.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(runControllerManager(os.Args[1:]))
	default:
		fmt.Fprintf(os.Stderr, "hyper: called as %q, want etcd, kube-apiserver or kube-controller-manager\n", name)
		os.Exit(2)
	}
}
