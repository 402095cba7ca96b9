package features

// routerBreaks are those of the provider router.
func routerBreaks() []Break {
	const goal, routes = "pkg/loadbalancer/goal/", "pkg/routes/"
	return []Break{
		{
			Row: 140, What: "nodes do not admit packets for the VIP",
			File:  routes + "lead.go",
			Old:   `return b.table.pairs.add(ctx, ports[i], []netip.Prefix{a.pool})`,
			New:   `return nil`,
			Tests: []string{"TestRouter_LeadsFloatingIPToNodeWithEndpoint"},
		},
		{
			Row: 140, What: "the next hop moves although its node serves",
			File:  "pkg/loadbalancer/router/choose.go",
			Old:   `if slices.Contains(present, node.Address) {`,
			New:   `if false {`,
			Tests: []string{"TestRouter_MovesOnlyWhenNodeHasNoEndpoint"},
		},
		{
			Row: 140, What: "a deleted Service leaves its routes",
			File:  "pkg/loadbalancer/plan/router.go",
			Old:   `steps = append(steps, LeadVIP{Address: lb.VIP.Address, From: lb.NextHops})`,
			New:   ``,
			Tests: []string{"TestRouter_DeletesEverything"},
		},
		{
			Row: 140, What: "two Services share their source ranges",
			File:  "pkg/loadbalancer/state/routed.go",
			Old:   `if port := access.conflicts(has); port != "" {`,
			New:   `if port := access.conflicts(has); port == "0" {`,
			Tests: []string{"TestRouter_EnforcesSourceRanges"},
		},
		{
			Row: 140, What: "source ranges of Services that were not seen since a start are forgotten",
			File:  goal + "routed_access.go",
			Old:   `served[svc.UID] = accessOf(asked)`,
			New:   `_ = asked`,
			Tests: []string{"TestRouter_EnforcesSourceRanges"},
		},
		{
			Row: 140, What: "a node that the router is not the gateway of becomes the next hop",
			File:  goal + "routed.go",
			Old:   `return !g.pool.Reaches(n.Address)`,
			New:   `return false`,
			Tests: []string{"TestRouter_RefusesBeforeFirstWrite"},
		},
		{
			Row: 140, What: "a node that does not admit packets for the VIP any more stays so",
			File:  "pkg/loadbalancer/router/drift.go",
			Old:   `case len(barred) > len(lb.Barred):`,
			New:   `case len(barred) < 0:`,
			Tests: []string{"TestRouter_RevertsChangesOfOthers"},
		},
		{
			Row: 140, What: "a port without an address hinders all Services",
			File:  "pkg/loadbalancer/router/first.go",
			Old:   `if vip.Address == "" {`,
			New:   `if false {`,
			Tests: []string{"TestRouter_IgnoresPortsThatServeNobody"},
		},
		{
			Row: 140, What: "kube-proxy does not learn the VIP",
			File:  goal + "without_octavia.go",
			Old:   `status.Ingress = append(status.Ingress, vip)`,
			New:   `status.Ingress = append(status.Ingress, vip)[:1]`,
			Tests: []string{"TestRouter_LeadsFloatingIPToNodeWithEndpoint"},
		},
		{
			Row: 140, What: "an ipMode keeps kube-proxy from the VIP",
			File:  goal + "without_octavia.go",
			Old:   `if status.Ingress[0].IP == vip.IP {`,
			New:   `if vip.IPMode = status.Ingress[0].IPMode; status.Ingress[0].IP == vip.IP {`,
			Tests: []string{"TestRouter_PublishesVIPForKubeProxy"},
		},
		{
			Row: 140, What: "a deletion on the router forgets what was begun in Octavia",
			File:  goal + "routed_gone.go",
			Old:   `if !g.Memory.enteredOctavia(g.in.Owner.UID) {`,
			New:   `if g.Memory.enteredOctavia(g.in.Owner.UID) {`,
			Tests: []string{"TestRouter_RemovesPartsThatWereBegunOnLoadBalancerOfAnother"},
		},
		{
			Row: 140, What: "a load balancer of another provider stays in the annotations",
			File:  goal + "without_octavia.go",
			Old:   `Since: g.Cloud.Clock.Now()}`,
			New:   `Since: g.Cloud.Clock.Now(), Unnamed: true}`,
			Tests: []string{"TestRouter_MovesServiceBetweenProvidersWithItsFloatingIP"},
		},
		{
			Row: 140, What: "the VIPs of a deleted cluster stay",
			File:  "pkg/loadbalancer/octavia/garbage/vips.go",
			Old:   `return r.Neutron.DeletePort(ctx, item.ID)`,
			New:   `return nil`,
			Tests: []string{"TestRun_RemovesVIPsOfOneCluster"},
		},
		{
			Row: 140, What: "each Service lists the VIPs after a restart",
			File:  "pkg/loadbalancer/router/first.go",
			Old:   `p.first.Get(ctx, p.Clock, age, func`,
			New:   `p.first.Get(ctx, p.Clock, age-age-1, func`,
			Tests: []string{"TestRouter_SharesListsAfterRestart"},
		},
		{
			Row: 140, What: "changes of others are reverted although they shall be reported",
			File:  goal + "without_octavia.go",
			Old:   `return plan.NewReport(plan.Applied{Same: true}, !first.Empty() || !groups.Empty())`,
			New:   `return plan.Report{}`,
			Tests: []string{"TestRouter_ReportsChangesOfOthers"},
		},
		{
			Row: 140, What: "a cloud without Octavia gets no service",
			File:  "pkg/cloudprovider/connect.go",
			Old:   `if !driver.WithoutOctavia(c.Config.LoadBalancer.LBProvider) {`,
			New:   `if driver.Router != "" {`,
			Tests: []string{"TestStartServices_StartsAtOnceWithOctaviaOrIfItIsNotNeeded"},
		},
		{
			Row: 140, What: "changes of security groups by others stay",
			File:  "pkg/loadbalancer/octavia/drift/detector.go",
			Old:   `return d.options.Routed.Mark(uid, reason)`,
			New:   `return types.NamespacedName{}, false, false`,
			Tests: []string{"TestRouter_RevertsChangesOfSecurityGroups"},
		},
		{
			Row: 140, What: "a load balancer that Octavia has begun is forgotten",
			File:  goal + "without_octavia.go",
			Old:   `mayHave := g.Memory.enteredOctavia(g.in.Owner.UID) || !published.hasStatus() && g.Memory.begunInOctavia(g.in.Owner, published)`,
			New:   `mayHave := false`,
			Tests: []string{"TestRouter_RemovesLoadBalancerThatWasBegunInOctavia"},
		},
		{
			Row: 140, What: "a Service that leaves the router gets another floating IP",
			File:  "pkg/loadbalancer/plan/diff.go",
			Old:   `moveFromDuplicate(desired, observed); ok { // from a VIP of provider router`,
			New:   `moveFromDuplicate(desired, observed); ok && lb != nil {`,
			Tests: []string{"TestRouter_MovesServiceBetweenProvidersWithItsFloatingIP"},
		},
		{
			Row: 140, What: "VIPs in a network that cloud.conf named before are forgotten",
			File:  "pkg/loadbalancer/router/ports.go",
			Old:   `lb.VIP.SubnetID, lb.VIP.Address = port.FixedIPs[0].SubnetID, port.FixedIPs[0].IPAddress`,
			New:   `lb.VIP.Address = port.FixedIPs[0].IPAddress`,
			Tests: []string{"TestRouter_KeepsVIPsOfFormerNetwork"},
		},
	}
}

// forwardingBreaks are those of the provider port-forwarding.
func forwardingBreaks() []Break {
	const goal, router = "pkg/loadbalancer/goal/forwarded.go", "pkg/loadbalancer/router/forwardings.go"
	return []Break{
		{
			Row: 140, What: "the forwardings move although their node serves",
			File:  goal,
			Old:   `slices.ContainsFunc(candidates, func(n router.Node) bool { return n.Address == f.Address })`,
			New:   `len(candidates) < 0`,
			Tests: []string{"TestPortForwarding_MovesOnlyWhenNodeHasNoEndpoint"},
		},
		{
			Row: 140, What: "a server that has got the address of a node becomes a target",
			File:  goal,
			Old:   `return known[node.Name].Owned(at)`,
			New:   `return at`,
			Tests: []string{"TestPortForwarding_SkipsNodeWhoseAddressAnotherServerHas"},
		},
		{
			Row: 140, What: "forwardings that have gone with the port of their node stay away",
			File:  router,
			Old:   `if !apierror.IsNotFound(err) {`,
			New:   `if err != nil {`,
			Tests: []string{"TestPortForwarding_LeavesNodeThatIsGone"},
		},
		{
			Row: 140, What: "the port of a removed Service port stays forwarded",
			File:  router,
			Old:   `if at(to, has.Key) >= 0 &&`,
			New:   `if true ||`,
			Tests: []string{"TestPortForwarding_FollowsPorts"},
		},
		{
			Row: 140, What: "ports cannot exchange their NodePorts",
			File:  router,
			Old:   `&& !slices.ContainsFunc(to, has.Blocks) {`,
			New:   `{`,
			Tests: []string{"TestPortForwarding_ExchangesNodePorts"},
		},
		{
			Row: 140, What: "forwardings of others count as the Service's",
			File: router,
			Old: `return !id.ProvenBy(has.Description) })
	return`,
			New: `return false })
	return`,
			Tests: []string{"TestPortForwarding_SharesRequestedFloatingIPWithOthers"},
		},
		{
			Row: 140, What: "a node with a floating IP of its own gets forwardings",
			File:  router,
			Old:   `return fip.PortID == port.ID })`,
			New:   `return false })`,
			Tests: []string{"TestPortForwarding_SkipsNodesWithFloatingIPs"},
		},
		{
			Row: 140, What: "a floating IP with forwardings cannot be deleted",
			File:  "pkg/openstack/neutron/floatingip.go",
			Old:   `if apierror.IsForwarded(err) {`,
			New:   `if false {`,
			Tests: []string{"TestPortForwarding_VanishedServiceIsGarbage"},
		},
		{
			Row: 140, What: "the NodePorts of forwardings are not opened",
			File:  "pkg/loadbalancer/goal/routed_access.go",
			Old:   `number = port.NodePort`,
			New:   `_ = port.NodePort`,
			Tests: []string{"TestPortForwarding_LeadsPortsToNodeWithEndpoint"},
		},
		{
			Row: 140, What: "changes of forwardings by others stay",
			File:  router,
			Old:   `if !contains(ListedOf(all[i]), lb.Forwardings) {`,
			New:   `if false {`,
			Tests: []string{"TestPortForwarding_RevertsChangesOfOthers"},
		},
		{
			Row: 140, What: "a Service that leaves for Octavia leaves its forwardings on its floating IP",
			File:  "pkg/loadbalancer/plan/diff.go",
			Old:   `steps, after := unforwarded(observed); len(steps) > 0`,
			New:   `steps, after := unforwarded(observed); len(steps) < 0`,
			Tests: []string{"TestPortForwarding_MovesServiceBetweenProvidersWithItsFloatingIP"},
		},
	}
}
