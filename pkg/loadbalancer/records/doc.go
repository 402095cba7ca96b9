// Package records stores a text for each Service, so that the next process need not read unchanged
// load balancers. The texts are in a few ConfigMaps, which are written lazily: a change of nodes,
// which changes every load balancer, costs as many writes as there are ConfigMaps, and none of
// Services.
//
// A record is a hint and proves nothing: a user who may write the ConfigMaps can only cause an
// unnecessary read of a load balancer, or prevent reads until it is changed. A lost ConfigMap costs
// one read for each load balancer that was recorded in it.
//
// # Layout and cost
//
// The records of all Services are in four ConfigMaps in kube-system, openstack-load-balancers-0 to -3, by a
// hash of the Service's UID; 5,000 Services take a quarter of a MiB in each. Changed ones are written five
// minutes after the first change, and when the process ends, before it gives its lease back. A change of
// nodes changes every record, and so costs four writes, or eight if it takes longer than a drift check, for
// any number of Services. An annotation on each Service would cost as many writes as Services, and for each
// of them another sync by the service controller, with two events, and a delivery to every kube-proxy.
// Beyond 768 KiB in a ConfigMap (about 15,000 Services) the remaining Services are not recorded. Records of
// deleted Services are dropped with the next write.
package records
