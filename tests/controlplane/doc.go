// Package controlplane runs a real Kubernetes control plane on loopback for tests and the demo:
// etcd, kube-apiserver and kube-controller-manager, each as a separate process. It needs no root,
// no container and no network except the Go module proxy at the first build.
//
// It has these properties for a cloud controller manager:
//
//   - authorization Node,RBAC, and no anonymous requests;
//   - a controller manager that gives every node a pod CIDR of both families, marks silent nodes,
//     creates service accounts, and deletes the objects of deleted namespaces and owners; it has no
//     other controllers;
//   - dual-stack Services, IPv4 first;
//   - no scheduler, no kubelet and no kube-proxy: see package node.
//
// The three programs are one binary, built from the module in hyper/, which also has kubectl and
// kube-proxy. Installed programs of the same release are used instead: see ProgramsVariable.
package controlplane
