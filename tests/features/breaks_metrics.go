package features

// metricsBreaks are those of metrics and alerts.
func metricsBreaks() []Break {
	const engine = "pkg/loadbalancer/"
	return []Break{
		{
			Row: 100, What: "the wait for Octavia counts as the controller's own time",
			File:  "pkg/stopwatch/stopwatch.go",
			Old:   `	w.active[part] += by`,
			New:   `	if part != Octavia { w.active[part] += by }`,
			Tests: []string{"TestWatch_CountsEachMomentOnceForWhatIsWaitedFor"},
		},
		{
			Row: 100, What: "the time in the queue of the service controller is not counted",
			File:  engine + "metrics.go",
			Old:   `times[stopwatch.Queue] += queued`,
			New:   `_ = queued`,
			Tests: []string{"TestMetrics_SplitTimeFromServiceToAddress"},
		},
		{
			Row: 100, What: "drift that is repaired is not counted",
			File:  engine + "serve.go",
			Old:   "		r.store.Accept(svc)\n		r.resolved(entry.Drift)\n",
			New:   "		r.store.Accept(svc)\n",
			Tests: []string{"TestMetrics_CountDriftThatIsFoundAndRepaired"},
		},
		{
			Row: 100, What: "members are not counted",
			File:  engine + "state/census.go",
			Old:   `c.Parts[Part{"member", model.Status{Provisioning: provisioning}}] += members`,
			New:   `_ = members`,
			Tests: []string{"TestMetrics_CountLoadBalancersAndPartsByStatus"},
		},
		{
			Row: 99, What: "a metric has no place on the page",
			File:  "tests/monitoring/table.go",
			Old:   `			Metric: "openstack_api_limit",`,
			New:   `			Metric: "openstack_api_queue_depth",`,
			Tests: []string{"TestTable_HasEachMetricWithItsLabels"},
		},
		{
			Row: 100, What: "an alert asks for a label that there is not",
			File:  "manifests/monitoring/prometheusrule.yaml",
			Old:   `sum by (reason) (cloudprovider_openstack_refused_services)`,
			New:   `sum by (cause) (cloudprovider_openstack_refused_services)`,
			Tests: []string{"TestQueries_AskForMetricsAndLabelsThatExist"},
		},
	}
}
