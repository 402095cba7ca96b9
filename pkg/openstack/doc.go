// Package openstack combines a transport, an authenticated session and a client for each service.
// It does not depend on Kubernetes.
//
// Session.Replace signs in over connections of its own, and reads an object of each service over them. Only
// after that has worked, for the same project, and without the loss of a service that the old ones can
// reach (reach.go), the pool of connections and the token with its credentials are replaced, each at once.
// A request keeps its connection. The trial has limits of its own, so that its failures slow nothing down.
package openstack
