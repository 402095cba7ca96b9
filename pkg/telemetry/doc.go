// Package telemetry records where the time of work goes, as spans of OpenTelemetry and for metrics. It also
// gives work an ID that OpenStack's services log, and logs changes there.
//
// A span starts only if its parent in the context is recorded: without tracing there are no spans. Root
// starts a trace and sets the ID of its requests: for rounds in the reconciler, for nodes and routes at their
// calls. Together starts a trace for work that several calls share, and links the calls. Step records one
// step as a span and a log line. The transport records its requests in the context. traced in
// pkg/loadbalancer adds the spans of stages to a goal, so that the stages do not depend on it.
//
// A Watch in the context of a round measures the round's waits by their reasons. The rest is the controller's
// own time. Concurrent waits of the same work count once, for the last one in the order of Parts. Gauge,
// Counter and Histogram make the metrics of other packages.
package telemetry
