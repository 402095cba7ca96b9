package state

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// advance records a resource version of the Service as the newest served one, unless a newer one has been served.
func (e *Entry) advance(version string, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(version, e.Served)
	if err == nil && order < 0 {
		return false
	}
	e.Served = version
	if e.Unsettled.Since.IsZero() || e.Unsettled.Deleting {
		e.Unsettled = Unsettled{Since: now}
	}
	return true
}

// Accept records that the Service has its desired state: it is not refused, and no drift is left.
func (e *Entry) Accept(svc *v1.Service) {
	if e.Accepted == nil || svc.ResourceVersion == "" || e.Accepted.ResourceVersion != svc.ResourceVersion {
		e.Accepted = requested(svc)
	}
	e.Drift, e.Refusal, e.Trouble, e.Unsettled, e.announced = Drift{}, Refusal{}, Trouble{}, Unsettled{}, nil
}

// requested returns the specification and identity of the Service.
func requested(svc *v1.Service) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
			CreationTimestamp: svc.CreationTimestamp, Annotations: svc.Annotations, Finalizers: svc.Finalizers,
		},
		Spec: svc.Spec,
	}
}

// Refuse records the reason of the Service's refusal, and whether it is reported to the service
// controller, which then retries until the Service is accepted. It returns whether a refusal was
// reported since the Service was last accepted.
func (r *Refusal) Refuse(reason string, reported bool) (wasReported bool) {
	r.Reason, r.Reported = reason, r.Reported || reported
	return r.Reported
}

// StartDeletion drops knowledge that is unreliable during a deletion: the applied state, its drift,
// the accepted and served Service, its refusal and its warnings. It keeps the time of MarkDeleting.
func (e *Entry) StartDeletion() {
	unsettled := e.Unsettled
	if !unsettled.Deleting {
		unsettled = Unsettled{}
	}
	*e = Entry{Namespace: e.Namespace, Access: e.Access, Made: e.Made, SecurityGroups: e.SecurityGroups, Unsettled: unsettled}
}
