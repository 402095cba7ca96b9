package features

// metricsBreaks are those of metrics, alerts and tracing.
func metricsBreaks() []Break {
	const engine = "pkg/loadbalancer/"
	return []Break{
		{
			Row: 100, What: "the wait for Octavia counts as the controller's own time",
			File:  "pkg/telemetry/watch.go",
			Old:   `	w.active[part] += by`,
			New:   `	if part != Octavia { w.active[part] += by }`,
			Tests: []string{"TestWatch_CountsEachMomentOnceForWhatIsWaitedFor"},
		},
		{
			Row: 100, What: "the time in the queue of the service controller is not counted",
			File:  engine + "metrics.go",
			Old:   `times[telemetry.Queue] += queued`,
			New:   `_ = queued`,
			Tests: []string{"TestMetrics_SplitTimeFromServiceToAddress"},
		},
		{
			Row: 100, What: "drift that is repaired is not counted",
			File:  engine + "serve.go",
			Old:   "			r.store.Accept(svc)\n			r.resolved(rd.entry.Drift)\n",
			New:   "			r.store.Accept(svc)\n",
			Tests: []string{"TestMetrics_CountDriftThatIsFoundAndRepaired"},
		},
		{
			Row: 100, What: "members are not counted",
			File:  engine + "state/census.go",
			Old:   `parts[Part{"member", model.Status{Provisioning: kind.Status.Provisioning}}] += members`,
			New:   `_, _ = kind, members`,
			Tests: []string{"TestMetrics_CountLoadBalancersAndPartsByStatus"},
		},
		{
			Row: 99, What: "a metric has no place on the page",
			File:  "tests/checks/monitoring/table.go",
			Old:   `			Metric: "openstack_api_limit",`,
			New:   `			Metric: "openstack_api_queue_depth",`,
			Tests: []string{"TestTable_HasEachMetricWithItsLabels"},
		},
		{
			Row: 100, What: "an alert asks for a label that there is not",
			File:  "manifests/monitoring/prometheusrule.yaml",
			Old:   `sum by (reason) (cloudprovider_openstack_refused_services`,
			New:   `sum by (cause) (cloudprovider_openstack_refused_services`,
			Tests: []string{"TestQueries_AskForMetricsAndLabelsThatExist"},
		},
		{
			Row: 102, What: "steps have no spans",
			File:  "pkg/telemetry/change.go",
			Old:   `ctx, endSpan := Span(ctx, "step", attribute.String("step", text))`,
			New:   `_, endSpan := Span(ctx, "step", attribute.String("step", text))`,
			Tests: []string{"TestTracing_HasSpansOfRoundStagesStepsAndRequests"},
		},
		{
			Row: 102, What: "calls do not lead to the batch that has served them",
			File:  "pkg/telemetry/span.go",
			Old:   `Link(asker, Here(ctx))`,
			New:   `_ = asker`,
			Tests: []string{"TestTracing_LinksBatchWithItsCalls"},
		},
		{
			Row: 102, What: "a kept answer does not lead to its request",
			File:  "pkg/instances/cache.go",
			Old:   "ok := c.kept(key); ok {\n\t\t\ttelemetry.Link(ctx, found.span)",
			New:   "ok := c.kept(key); ok {",
			Tests: []string{"TestTracing_LinksThoseWhoShareAnAnswer", "TestTracing_LinksNodesToTheirSharedList"},
		},
		{
			Row: 102, What: "calls about nodes and routes have no span",
			File:  "pkg/cloudprovider/provider.go",
			Old:   `p.calls.tracer, p.calls.metrics = options.Tracer, options.Metrics`,
			New:   `p.calls.metrics = options.Metrics`,
			Tests: []string{"TestTracing_HasSpansOfCallsAboutNodesAndRoutes"},
		},
		{
			Row: 102, What: "each change is logged when it begins, too",
			File:  "pkg/telemetry/change.go",
			Old:   `logger.V(4).Info("Changing the cloud", "step", text)`,
			New:   `logger.V(2).Info("Changing the cloud", "step", text)`,
			Tests: []string{"TestLog_HasOneLineForEachChange"},
		},
		{
			Row: 102, What: "the log does not know the IDs of requests",
			File:  "pkg/openstack/transport/observe.go",
			Old:   `telemetry.Wrote(ctx, requestID)`,
			New:   `telemetry.Wrote(ctx, "")`,
			Tests: []string{"TestLog_HasOneLineForEachChange", "TestLog_HasOneLineForEachRoute"},
		},
		{
			Row: 102, What: "OpenStack gets no global request ID",
			File:  "pkg/openstack/transport/observe.go",
			Old:   `return rest.With(ctx, req, globalID, id)`,
			New:   `return req.WithContext(ctx)`,
			Tests: []string{"TestTracing_GlobalRequestIDIsOneForEachRound"},
		},
		{
			Row: 102, What: "the file for tracing is not heard",
			File:  "cmd/openstack-cloud-controller-manager/tracing.go",
			Old:   `if p.tracing == "" {`,
			New:   `if p.tracing != "nothing" {`,
			Tests: []string{"TestTracing_IsOffWithoutFileAndRefusesBadOnes"},
		},
	}
}
