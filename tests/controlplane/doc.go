// Package controlplane runs a real Kubernetes control plane on loopback for
// tests and the demo: etcd, kube-apiserver and kube-controller-manager, each a
// process of its own. It needs no root, no container and no network beyond the
// Go module proxy at the first build.
//
// What a cloud controller manager finds there:
//
//   - authorization Node,RBAC, and no anonymous requests;
//   - a controller manager that gives every node a pod CIDR of both families, marks
//     nodes that are silent, makes service accounts, and deletes what namespaces and
//     owners leave behind; it has no other controllers;
//   - dual-stack Services, IPv4 first;
//   - no scheduler, no kubelet and no kube-proxy: see package node.
//
// The three programs are one binary, built from the module in hyper/, which also has
// kubectl and kube-proxy for whoever asks for them. Programs of the same release that are
// on the machine already are used instead: see ProgramsVariable.
package controlplane
