// Package status shows the cloud objects of Services of type LoadBalancer, from the address to the
// members, and their problems. It finds load balancers by the controller's own code, works without
// the controller, and never writes.
//
// goal.Finder.Find finds a Service's load balancer, like a round with only the records. A list reads one
// project.Lists for all, like a takeover, so that the number of requests does not depend on that of
// Services, and the unhealthy pools from Octavia. Members are read only for a tree: with the status tree,
// in one request. The result is a Service. evidence.judge finds its problems, by the conditions of the
// Service first, then by the rules, and otherwise by events; text.go and tree.go write them. Both are pure.
package status
