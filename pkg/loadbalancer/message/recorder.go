package message

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// LimitEvents returns a recorder that truncates messages to one line of at most MaxEvent bytes.
func LimitEvents(to record.EventRecorder) record.EventRecorder { return recorder{to} }

type recorder struct{ to record.EventRecorder }

// Event implements record.EventRecorder.
func (r recorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.to.Event(object, eventtype, reason, Truncate(message, MaxEvent))
}

// Eventf implements record.EventRecorder.
func (r recorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, format string, args ...any) {
	r.to.AnnotatedEventf(object, annotations, eventtype, reason, "%s", Truncate(fmt.Sprintf(format, args...), MaxEvent))
}
