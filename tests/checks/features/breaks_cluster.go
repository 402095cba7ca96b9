package features

// clusterBreaks returns the breaks of sign-in, nodes, routes and the pod.
func clusterBreaks() []Break {
	const route = "pkg/routes/"
	return []Break{
		{
			Row: 95, What: "clouds.yaml is not read",
			File:  "pkg/config/clouds.go",
			Old:   `if !global.UseClouds {`,
			New:   `if true {`,
			Tests: []string{"TestNewSession_SignsInByCloudsYAML"},
		},
		{
			Row: 95, What: "the ID of the application credential is not sent",
			File:  "pkg/openstack/auth/credentials.go",
			Old:   `options.ApplicationCredentialID = cfg.ApplicationCredentialID`,
			New:   `options.ApplicationCredentialID = ""`,
			Tests: []string{"TestNewSession_SignsInByEveryMethod"},
		},
		{
			Row: 96, What: "OS_* variables are ignored",
			File:  "pkg/config/environment.go",
			Old:   `if text := env.get(name); text != "" {`,
			New:   `if text := env.get("NOT_" + name); text != "" {`,
			Tests: []string{"TestEnvironment_ReplacesMissingFile"},
		},
		{
			Row: 97, What: "RBAC permits the controller to delete Services",
			File:  "manifests/static/rbac.yaml",
			Old:   `verbs: ["get", "list", "watch", "patch"]`,
			New:   `verbs: ["get", "list", "watch", "patch", "delete"]`,
			Tests: []string{"TestRBAC_GrantsOnlyListedRightsInCluster"},
		},
		{
			Row: 98, What: "the pod may run as root",
			File:  "manifests/static/daemonset.yaml",
			Old:   `runAsNonRoot: true`,
			New:   `runAsNonRoot: false`,
			Tests: []string{"TestPod_IsConfined"},
		},
		{
			Row: 98, What: "the readiness probe does not request /readyz",
			File: "manifests/static/daemonset.yaml",
			Old: `        readinessProbe:
          httpGet:
            scheme: HTTPS
            host: "127.0.0.1"
            port: 10258
            path: /readyz
`,
			New: `        readinessProbe:
          tcpSocket: {port: 10258}
`,
			Tests: []string{"TestPod_RunsBeforePodNetworkAndDNS"},
		},
		{
			Row: 119, What: "quotes in Helm values are not escaped in cloud.conf",
			File:  "manifests/chart/templates/_helpers.tpl",
			Old:   `replace "\\" "\\\\" | replace "\"" "\\\"" | replace "\n"`,
			New:   `replace "\n"`,
			Tests: []string{"TestChart_KeepsValuesOfCloudConfAsTheyAre"},
		},
		{
			Row: 119, What: "a release of cloud-provider-openstack's chart cannot be upgraded",
			File:  "manifests/chart/templates/_helpers.tpl",
			Old:   `component: controllermanager`,
			New:   `component: cloud-controller-manager`,
			Tests: []string{"TestChart_TakesValuesOfCloudProviderOpenStacksChart"},
		},
		{
			Row: 119, What: "the chart installs a NetworkPolicy that has no effect",
			File:  "manifests/chart/templates/policies.yaml",
			Old:   `{{- if .Values.hostNetwork }}`,
			New:   `{{- if false }}`,
			Tests: []string{"TestChart_RefusesValuesThatCannotWork"},
		},
		{
			Row: 119, What: "the static manifest uses another port than the chart",
			File:  "manifests/static/daemonset.yaml",
			Old:   `hostPort: 10258`,
			New:   `hostPort: 10259`,
			Tests: []string{"TestStaticGolden_IsRenderedFromChart"},
		},
		{
			Row: 110, What: "ports get no allowed address pairs",
			File:  route + "create.go",
			Old:   `r.eachPort(ctx, there, ports, r.table.pairs.add)`,
			New:   ``,
			Tests: []string{"TestCreateRoute_AddsRouteAndPairForEveryPodCIDR"},
		},
		{
			Row: 110, What: "each route is added by replacing all routes of the router",
			File:  route + "router.go",
			Old:   `if now := e.clock.Now(); now.UnixNano() >= e.nonAtomicUntil.Load() {`,
			New:   `if now := e.clock.Now(); false {`,
			Tests: []string{"TestBatch_AddsRoutesOfHundredNodesInOneRequest"},
		},
		{
			Row: 111, What: "routes of other owners are removed",
			File:  route + "remove.go",
			Old:   `case !ours:`,
			New:   `case !ours && false:`,
			Tests: []string{"TestRoutes_OfOthersOnSameRouterStay"},
		},
		{
			Row: 103, What: "nodes get no instance type",
			File:  "pkg/instances/instance.go",
			Old:   `return server.FlavorName, nil`,
			New:   `return "", nil`,
			Tests: []string{"TestInstanceMetadata_InitializesNodeFromItsServer"},
		},
		{
			Row: 104, What: "servers of the same name are not distinguished by system UUID",
			File:  "pkg/instances/find.go",
			Old:   `strings.EqualFold(servers[n].ID, node.Status.NodeInfo.SystemUUID)`,
			New:   `false`,
			Tests: []string{"TestInstanceExists_ReportsNodeGoneOnlyOnProof"},
		},
		{
			Row: 104, What: "the system UUID does not find a server of another name",
			File:  "pkg/instances/find.go",
			Old:   `id := cluster.ServerID(node.Status.NodeInfo.SystemUUID); id != ""`,
			New:   `id := cluster.ServerID(node.Status.NodeInfo.SystemUUID); id == ""`,
			Tests: []string{"TestInstanceExists_ReportsNodeGoneOnlyOnProof"},
		},
		{
			Row: 109, What: "a Node that matches no server is reported as gone",
			File:  "pkg/instances/find.go",
			Old:   `system UUID: it is left alone", node.Name)`,
			New:   `system UUID: %w", node.Name, cloudprovider.InstanceNotFound)`,
			Tests: []string{"TestInstanceExists_ReportsNodeGoneOnlyOnProof"},
		},
		{
			Row: 109, What: "a Node of another region is looked up in this region",
			File:  "pkg/instances/fleet.go",
			Old:   `(named == "" || named == r.Name)`,
			New:   `true`,
			Tests: []string{"TestInstanceExists_ReportsNodeGoneOnlyOnProof"},
		},
		{
			Row: 109, What: "Nodes are deleted even if most servers are gone at once",
			File:  "pkg/instances/deletions.go",
			Old:   `if gone < 2 || gone*100 <= all*share {`,
			New:   `if true {`,
			Tests: []string{"TestDeletions_KeepAllNodesWhileTooManyWouldGo"},
		},
		{
			Row: 109, What: "Nodes are deleted without the safety checks for missing servers",
			File:  "pkg/cloudprovider/instances.go",
			Old:   `return false, message.TruncateError(i.deletions.Allow(ctx, node), message.MaxError)`,
			New:   `return false, nil`,
			Tests: []string{"TestProvider_KeepsNodesThatAreInAnotherProject"},
		},
		{
			Row: 109, What: "the annotation that allows the deletion of a Node is ignored",
			File:  "pkg/instances/deletions.go",
			Old:   `node.Annotations[AllowDeletion] == "true"`,
			New:   `node.Annotations[AllowDeletion] == "no"`,
			Tests: []string{"TestDeletions_LetNodesGoThatOperatorAllows"},
		},
		{
			Row: 105, What: "Nodes are deleted without a grace period",
			File:  "pkg/instances/deletions.go",
			Old:   `Sub(now); left > 0 {`,
			New:   `Sub(now); left > 0 && false {`,
			Tests: []string{"TestDeletions_WaitForGracePeriod"},
		},
		{
			Row: 108, What: "additional regions in cloud.conf are ignored",
			File:  "pkg/cloudprovider/connect.go",
			Old:   `if !slices.Contains(seen, name) {`,
			New:   `if !slices.Contains(seen, name) && false {`,
			Tests: []string{"TestConnect_ServesNodesOfOtherRegions"},
		},
		{
			Row: 108, What: "the region label of a Node is ignored",
			File:  "pkg/instances/fleet.go",
			Old:   `(labeled == "" || labeled == labelValue(r.Name))`,
			New:   `true`,
			Tests: []string{"TestInstances_LookEachNodeUpInItsRegion"},
		},
		{
			Row: 106, What: "shutdown-status is ignored",
			File:  "pkg/instances/instance.go",
			Old:   `slices.Contains(i.shutdown, server.Status)`,
			New:   `slices.Contains(ShutdownByDefault(), server.Status)`,
			Tests: []string{"TestInstanceShutdown_FollowsStatusesOfCloudConf"},
		},
		{
			Row: 95, What: "the token is not scoped to the trust",
			File:  "pkg/openstack/auth/credentials.go",
			Old:   `tokens.Scope{TrustID: cfg.TrustID}`,
			New:   `tokens.Scope{}`,
			Tests: []string{"TestNewSession_SignsInByEveryMethod"},
		},
		{
			Row: 95, What: "no client certificate is presented",
			File:  "pkg/openstack/transport/tls.go",
			Old:   `return &pair, nil`,
			New:   `return &tls.Certificate{Leaf: pair.Leaf}, nil`,
			Tests: []string{"TestConnections_ShowClientCertificateAndReadItAgain"},
		},
		{
			Row: 94, What: "credentials of another project are accepted",
			File:  "pkg/openstack/auth/session.go",
			Old:   `if err == nil && first.projectID != s.ProjectID() {`,
			New:   `if false {`,
			Tests: []string{"TestReplace_ChangesNothingWhenRefused"},
		},
		{
			Row: 94, What: "a changed certificate file is not detected",
			File:  "pkg/reload/look.go",
			Old:   `return l.files == o.files && reflect`,
			New:   `return reflect`,
			Tests: []string{"TestWatcher_FollowsCloudsYAMLAndCertificates"},
		},
		{
			Row: 94, What: "a rejected password is retried as often as any other error",
			File:  "pkg/reload/watcher.go",
			Old:   `pause = rejectedPeriod`,
			New:   `pause = retryPeriod`,
			Tests: []string{"TestWatcher_KeepsCredentialsInForceWhenOthersDoNotSignIn"},
		},
		{
			Row: 94, What: "the expiry of the password is not read",
			File:  "pkg/openstack/auth/token.go",
			Old:   `t.passwordExpires = keystoneTime(body.User.PasswordExpires)`,
			New:   `t.passwordExpires = time.Time{}`,
			Tests: []string{"TestExpiry_IsThatOfTheCredentialsInUse"},
		},
		{
			Row: 94, What: "the warning about expiring credentials is not repeated",
			File:  "pkg/reload/expiry.go",
			Old:   `now.Before(w.notice.at.Add(reminderPeriod))`,
			New:   `!now.IsZero()`,
			Tests: []string{"TestWatcher_TellsThatCredentialsExpire"},
		},
		{
			Row: 94, What: "a changed cloud.conf has no effect on Services",
			File:  "pkg/loadbalancer/reconciler.go",
			Old:   `r.engines.Store(r.engine().With(conf, parser))`,
			New:   `_ = parser`,
			Tests: []string{"TestReconfigure_ChangesServicesThatItConcernsAndNoOther"},
		},
		{
			Row: 53, What: "nodes with the exclusion label become members",
			File:  "pkg/cluster/node.go",
			Old:   `return err != nil || exclude`,
			New:   `return err != nil && exclude`,
			Tests: []string{"TestExcluded_FollowsTheServiceController", "TestMembers_AreNoneWhereAllNodesAreExcluded"},
		},
		{
			Row: 53, What: "nodes that are about to be deleted become regular members",
			File:  "pkg/cluster/node.go",
			Old:   `return node.DeletionTimestamp != nil ||`,
			New:   `return node.DeletionTimestamp != nil &&`,
			Tests: []string{"TestExcluded_FollowsTheServiceController"},
		},
		{
			Row: 99, What: "calls of the cloud provider are not counted",
			File:  "pkg/cloudprovider/connect.go",
			Old:   `Metrics:  c.Metrics,`,
			New:   `Metrics:  nil,`,
			Tests: []string{"TestConnect_CountsRequestsAndCalls"},
		},
		{
			Row: 99, What: "requests to OpenStack are not counted",
			File:  "pkg/cloudprovider/connect.go",
			Old:   `= c.Clock, c.APIMetrics, c.rereadGlobal()`,
			New:   `= c.Clock, nil, c.rereadGlobal()`,
			Tests: []string{"TestConnect_CountsRequestsAndCalls"},
		},
		{
			Row: 106, What: "a server with the status SHELVED_OFFLOADED does not count as shut down",
			File:  "pkg/instances/instance.go",
			Old:   `, nova.ServerShelvedOffloaded}`,
			New:   `}`,
			Tests: []string{"TestInstanceShutdown_ReportsOnlyServersThatAreOff"},
		},
		{
			Row: 107, What: "address-sort-order is ignored",
			File: "pkg/instances/addresses.go",
			Old: `	r.sort(addresses)
`,
			New:   ``,
			Tests: []string{"TestAddresses_FollowNetworkingSettings"},
		},
		{
			Row: 107, What: "addresses of trunk subports are not read",
			File:  "pkg/instances/instance.go",
			Old:   `if subports == nil {`,
			New:   `if true {`,
			Tests: []string{"TestTrunks_AddSubportAddressesToNode"},
		},
		{
			Row: 114, What: "a cloud without Octavia prevents the start",
			File: "pkg/cloudprovider/octavia.go",
			Old: `missing := p.options.FindOctavia(p.calls.process)
`,
			New: `missing := p.options.FindOctavia(p.calls.process)
	if missing != nil {
		return false, missing
	}
`,
			Tests: []string{"TestStartServices_WaitsUntilTheCloudHasOctavia"},
		},
	}
}
