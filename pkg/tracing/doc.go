// Package tracing records work as spans of OpenTelemetry, gives it an ID that OpenStack's services
// log, and logs changes there. Without a span in the context, it records nothing and costs nothing.
//
// Spans start only if their parent in the context is recorded: without tracing a round has none. Root
// starts a trace and the ID of its requests: for rounds in the reconciler, for nodes and routes at their
// calls. Together does so for work that several calls share, with links. Step is a step with its span and
// its line of the log. The transport records its requests in the context. traced in pkg/loadbalancer adds
// the spans of stages to a goal, so that the stages do not depend on it.
package tracing
