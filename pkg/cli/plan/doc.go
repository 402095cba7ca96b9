// Package plan previews the changes that the controller would make for Services, for the verb plan, and
// lists the steps before a return to cloud-provider-openstack.
//
// The engine of the controller executes a round for each Service without a write.
// It is loadbalancer.Reconciler.Preview. In addition, the session (transport.ReadOnly) and the client of
// Kubernetes refuse to send a write.
package plan
