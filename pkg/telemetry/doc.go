// Package telemetry records where the time of work goes, as spans of OpenTelemetry and for metrics. It also
// gives work an ID that OpenStack's services log, and logs changes there.
//
// Spans start only if their parent in the context is recorded: without tracing a round has none. Root
// starts a trace and the ID of its requests: for rounds in the reconciler, for nodes and routes at their
// calls. Together does so for work that several calls share, with links. Step is a step with its span and
// its line of the log. The transport records its requests in the context. traced in pkg/loadbalancer adds
// the spans of stages to a goal, so that the stages do not depend on it.
//
// A Watch in the context of a round measures its waits by their reasons. The rest is the controller's own
// time. Concurrent waits of the same work count once, for the last one in the order of Parts. Gauge, Counter
// and Histogram make the metrics of other packages.
package telemetry
