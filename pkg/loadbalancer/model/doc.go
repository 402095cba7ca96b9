// Package model describes a load balancer for all stages: desire builds it from a Service, observe
// reads it from the cloud, plan compares the two, and apply changes the cloud. It depends on
// no client of OpenStack, and of Kubernetes only on the type of names and UIDs.
//
// # Members are columns
//
// Members is the only list of members: in desired, observed and stored load balancers and in the steps of
// plans. It is an immutable value of a pool: a list of hosts (name and address), IDs, and the kind of each
// member (port, subnet, status and so on; most pools have one). Equal lists of hosts are one list in memory
// (Hosts), which all pools and Services share. The comparison of two pools begins with the identity of that
// list.
package model
