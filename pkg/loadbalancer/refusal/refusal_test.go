package refusal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// octavia returns the error of a request that Octavia answers with a status.
func octavia(method string, status int, text string) error {
	body, err := json.Marshal(map[string]string{"faultcode": "Client", "faultstring": text})
	if err != nil {
		return err
	}
	return gophercloud.ErrUnexpectedResponseCode{
		Method: method, URL: "http://127.0.0.1/v2.0/lbaas/loadbalancers", Actual: status, Body: body,
		ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}
}

func TestReason_TruthTable(t *testing.T) {
	t.Parallel()
	port := field.NewPath("spec", "ports").Index(0)
	certificate := errors.New("Barbican does not answer")
	var reasons []string
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no error":                       {nil, ""},
		"some error":                     {errors.New("oops"), ""},
		"a value":                        {field.Invalid(port, 0, ""), refusal.Invalid},
		"a value that is missing":        {field.Required(annotation.Path(annotation.TLSContainer), ""), refusal.Invalid},
		"a value that nobody has":        {field.NotFound(annotation.Path(annotation.TLSContainer), "ref"), refusal.Unavailable},
		"a class":                        {field.Invalid(annotation.Path(annotation.Class), "gold", ""), refusal.Unavailable},
		"a load balancer that is shared": {field.Forbidden(annotation.Path(annotation.LoadBalancerID), "cannot be shared"), refusal.NotOwned},
		"a load balancer that is no ID":  {field.Invalid(annotation.Path(annotation.LoadBalancerID), "..", ""), refusal.Invalid},
		"a load balancer nobody has":     {field.NotFound(annotation.Path(annotation.LoadBalancerID), "lb-1"), refusal.Unavailable},
		"what the provider lacks":        {field.Forbidden(port, "ovn has none"), refusal.Unsupported},
		"what is not in a list":          {field.NotSupported(port, "a", []string{"b"}), refusal.Unsupported},
		"many fields: the first":         {message.Invalid(field.ErrorList{field.Forbidden(port, ""), field.Invalid(port, 0, "")}), refusal.Unsupported},
		"no network":                     {&lookup.Error{Message: "none"}, refusal.Unavailable},
		"no floating IP":                 {&observe.FloatingIPError{Message: "in use"}, refusal.Unavailable},
		"no answer about a certificate":  {&lookup.Error{Message: certificate.Error(), Err: certificate}, refusal.Unavailable},
		"source ranges are not enforced": {&securitygroup.UnenforcedError{}, refusal.Unsupported},
		"a limit of cloud.conf":          {&state.QuotaError{Namespace: "default", Most: 1}, refusal.Quota},
		"a quota":                        {octavia("POST", 403, "Quota has been met for resources: Load Balancer"), refusal.Quota},
		"a quota, told by a read":        {octavia("GET", 403, "Quota has been met for resources: Load Balancer"), ""},
		"another's load balancer":        {&observe.NotOursError{Why: "nothing proves it"}, refusal.NotOwned},
		"a port that is taken":           {&refusal.BlockedError{Why: "port 80 is taken"}, refusal.Conflict},
		"a load balancer in ERROR":       {&refusal.BlockedError{Why: "in ERROR", Failed: true}, ""},
		"a conflict":                     {octavia("POST", 409, "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 80"), refusal.Conflict},
		"a load balancer that changes":   {octavia("POST", 409, "Load Balancer 1 is immutable and cannot be updated."), ""},
		"an option that is not there":    {octavia("POST", 501, "Provider 'ovn' does not support a requested option"), refusal.Unsupported},
		"a role that is missing":         {octavia("POST", 403, "Policy does not allow this request to be performed."), refusal.Cloud},
		"a value that Octavia refuses":   {octavia("PUT", 400, "Invalid input for field/attribute weight."), refusal.Cloud},
		"Octavia is down":                {octavia("POST", 503, "Project busy."), ""},
	} {
		reasons = append(reasons, test.want)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.err
			if err != nil {
				err = fmt.Errorf("a step: %w", err)
			}
			if got := refusal.Reason(err); got != test.want {
				t.Errorf("%v: reason %q, want %q", test.err, got, test.want)
			}
		})
	}
	for _, reason := range refusal.Reasons() {
		if !slices.Contains(reasons, reason) {
			t.Errorf("the table has no error of reason %s", reason)
		}
	}
}

// Each is stated by another reason of the list of reasons, which the condition can have.
//
//proves:100
func TestStated_HasAReasonForEach(t *testing.T) {
	t.Parallel()
	seen := map[reason.Reason]bool{}
	states := func(stated reason.Reason) bool {
		return slices.ContainsFunc(reason.Table(), func(entry reason.Entry) bool {
			return entry.Reason == stated && slices.Contains(entry.States, reason.State{Condition: reason.IsRefused, Is: true})
		})
	}
	for _, why := range refusal.Reasons() {
		stated := refusal.Stated(why)
		if !states(stated) || seen[stated] {
			t.Errorf("%s is stated as %q", why, stated)
		}
		seen[stated] = true
	}
	if refusal.Stated("") != "" {
		t.Error("no refusal is stated")
	}
}

func TestStanding_IsTheSameHoweverTheLoadBalancerFails(t *testing.T) {
	t.Parallel()
	invalid := error(field.Invalid(field.NewPath("spec"), "x", "not allowed"))
	long := errors.New(strings.Repeat("x", 10_000))
	for _, failure := range []error{nil, long, refusal.ErrNothingKept} {
		if got := refusal.Standing(long, failure); len(got) > message.MaxError || !strings.Contains(got, "…; ") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
	if a, b := refusal.Standing(invalid, errors.New("a")), refusal.Standing(invalid, errors.New("b")); a != b || !strings.HasSuffix(a, "cannot follow its nodes or pods at the moment") {
		t.Errorf("%q and %q", a, b)
	}
	for failure, want := range map[error]string{nil: "keeps its last good settings and follows its nodes or pods", refusal.ErrNothingKept: "nothing serves the Service yet"} {
		if got := refusal.Standing(invalid, failure); !strings.HasSuffix(got, want) || !strings.Contains(got, "not allowed") {
			t.Errorf("%q, want the end %q", got, want)
		}
	}
}

func TestParts_AreWhatStandingPutsTogether(t *testing.T) {
	t.Parallel()
	invalid, byCloud := error(field.Invalid(field.NewPath("spec"), "x", "not allowed; at all")), octavia("POST", 400, "no; never")
	for _, refused := range []error{invalid, byCloud} {
		for _, failure := range []error{nil, errors.New("no node"), refusal.ErrNothingKept} {
			standing := refusal.Standing(refused, failure)
			for _, ignored := range []string{"", "x: unknown; y: unknown", strings.Repeat("x: unknown; ", 100)} {
				with := refusal.WithIgnored(standing, ignored)
				if why, kept := refusal.Parts(with); why != refused.Error() || why+"; "+kept != standing || len(with) > message.MaxError || !strings.HasPrefix(with, standing) {
					t.Errorf("%q is %q and %q", with, why, kept)
				}
				if has := strings.Contains(with, "; without effect: x: unknown"); has != (ignored != "") {
					t.Errorf("%q, want %q", with, ignored)
				}
			}
			why, kept := refusal.Parts(standing)
			if why != refused.Error() || kept == "" || why+"; "+kept != standing {
				t.Errorf("%q is %q and %q", standing, why, kept)
			}
		}
	}
	if why, kept := refusal.Parts("a; b"); why != "a; b" || kept != "" {
		t.Errorf("another text is %q and %q", why, kept)
	}
}

// retryAfter returns when an error asks to be tried again, 0 where it does not.
func retryAfter(err error) time.Duration {
	var retry *api.RetryError
	if !errors.As(err, &retry) {
		return 0
	}
	return retry.RetryAfter()
}

func TestExplain_SaysWhatBecomesOfTheLoadBalancer(t *testing.T) {
	t.Parallel()
	invalid := error(field.Invalid(field.NewPath("spec"), "x", "not allowed"))
	long := errors.New(strings.Repeat("x", 10_000))
	lost := errors.New("no node")
	full := octavia("POST", 403, "Quota has been met for resources: Listener")
	for name, test := range map[string]struct {
		refused, failure error
		timeout, retry   time.Duration
		want             string
	}{
		"kept":               {refused: invalid, retry: 5 * time.Minute, want: "; the load balancer keeps its last good settings and follows its nodes or pods"},
		"kept after a limit": {refused: &state.QuotaError{}, want: "; the load balancer keeps its last good settings and follows its nodes or pods"},
		"halfway":            {refused: octavia("POST", 400, "no"), want: "; the rest goes on: the load balancer follows its nodes or pods"},
		"nothing to keep":    {refused: invalid, failure: refusal.ErrNothingKept, want: "not allowed"},
		"not kept":           {refused: invalid, failure: lost, want: "; and its load balancer cannot follow its nodes or pods: no node"},
		"long":               {refused: long, want: "…; the load balancer keeps its last good settings and follows its nodes or pods"},
		"both long":          {refused: fmt.Errorf("%w %w", invalid, long), failure: long, want: "x…"},
		"parts quota":        {refused: full, retry: 5 * time.Minute, want: "; trying again in 5m0s"},
		"too slow":           {refused: lost, failure: lost, timeout: time.Minute, retry: 30 * time.Second, want: "; and its load balancer cannot follow its nodes or pods: no node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := refusal.Explain(test.refused, test.failure, test.timeout)
			if !strings.HasSuffix(err.Error(), test.want) || len(err.Error()) > message.MaxError+100 {
				t.Errorf("%d bytes: %v, want the end %q", len(err.Error()), err, test.want)
			}
			if retryAfter(err) != test.retry {
				t.Errorf("asks to be tried again after %s, want %s", retryAfter(err), test.retry)
			}
		})
	}
}

func TestExplain_WrapsRefusalAndFailure(t *testing.T) {
	t.Parallel()
	refused, failure := &state.QuotaError{Namespace: "default", Most: 1}, errors.New("no node")
	err := refusal.Explain(refused, failure, 0)
	if !errors.Is(err, refused) || !errors.Is(err, failure) || refusal.Reason(err) != refusal.Quota {
		t.Errorf("%v wraps the refusal: %v, the failure: %v", err, errors.Is(err, refused), errors.Is(err, failure))
	}
	certificate := errors.New("Barbican does not answer")
	if err := refusal.Explain(&lookup.Error{Message: certificate.Error(), Err: certificate}, nil, 0); !errors.Is(err, certificate) {
		t.Errorf("%v does not wrap its cause", err)
	}
	invalid := field.Invalid(field.NewPath("spec"), "x", "not allowed")
	if err := refusal.Explain(invalid, nil, 0); !errors.Is(err, invalid) {
		t.Errorf("%v does not wrap the refusal", err)
	}
}

func TestRetry_LeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	if err := refusal.Retry(nil, time.Minute); err != nil {
		t.Errorf("no error became %v", err)
	}
	other := errors.New("oops")
	if err := refusal.Retry(other, 0); err != other {
		t.Errorf("%v became %v", other, err)
	}
	err := refusal.Retry(other, time.Minute)
	if retryAfter(err) != 30*time.Second || err.Error() != "the load balancer is not ready after 1m0s, looking again in 30s: oops" {
		t.Errorf("after a timeout: %v, again after %s", err, retryAfter(err))
	}
}

// Only what the user must change waits for minutes: an object or a load balancer may appear at any time.
func TestExplain_WaitsOnlyForChangesOfTheService(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec")
	for name, test := range map[string]struct {
		refused error
		retry   time.Duration
	}{
		"a value":                 {field.Invalid(path, "x", ""), 5 * time.Minute},
		"what the driver lacks":   {field.Forbidden(path, ""), 5 * time.Minute},
		"a class":                 {field.Invalid(annotation.Path(annotation.Class), "gold", ""), 0},
		"a missing object":        {&lookup.Error{Message: "none"}, 0},
		"another's load balancer": {&observe.NotOursError{Why: "theirs"}, 0},
		"a conflict":              {&refusal.BlockedError{Why: "port 80 is taken"}, 0},
		"the cloud":               {octavia("PUT", 400, "no"), 0},
		"a quota of the cloud":    {octavia("POST", 403, "Quota has been met for resources: Load Balancer"), 5 * time.Minute},
	} {
		if got := retryAfter(refusal.Explain(test.refused, nil, 0)); got != test.retry {
			t.Errorf("%s: again after %s, want %s", name, got, test.retry)
		}
		for _, failure := range []error{errors.New("no node"), refusal.ErrNothingKept} {
			if got := retryAfter(refusal.Explain(test.refused, failure, 0)); got != 0 && refusal.Reason(test.refused) != refusal.Quota {
				t.Errorf("%s: after %v again only after %s", name, failure, got)
			}
		}
	}
}

func TestStuck_IsWhyTheLoadBalancerCannotFollow(t *testing.T) {
	t.Parallel()
	refused, failure := field.Invalid(field.NewPath("spec"), "x", "not allowed"), errors.New("no node")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no error":        {nil, ""},
		"no refusal":      {failure, ""},
		"kept":            {refusal.Explain(refused, nil, 0), ""},
		"nothing to keep": {refusal.Explain(refused, fmt.Errorf("a round: %w", refusal.ErrNothingKept), 0), ""},
		"not kept":        {refusal.Explain(refused, failure, 0), "no node"},
		"wrapped":         {fmt.Errorf("a round: %w", refusal.Later(refusal.Explain(refused, failure, 0), time.Second)), "no node"},
	} {
		if got := refusal.Stuck(test.err); got != test.want {
			t.Errorf("%s: stuck because of %q, want %q", name, got, test.want)
		}
	}
}

func TestLater_WrapsErrorAndItsDelay(t *testing.T) {
	t.Parallel()
	blocked := &refusal.BlockedError{Why: "port 80 is taken"}
	err := refusal.Later(blocked, 7*time.Second)
	if err.Error() != "port 80 is taken" || !errors.Is(err, blocked) || retryAfter(err) != 7*time.Second {
		t.Errorf("%v, again after %s", err, retryAfter(err))
	}
}

// What a user must read comes first: settings without effect are added only if there is room to say which.
func TestWithIgnored_HasLeastRoom(t *testing.T) {
	t.Parallel()
	for left, added := range map[int]bool{59: false, 60: true, 61: true, 500: true, -1: false} {
		standing := strings.Repeat("x", message.MaxError-len("; without effect: ")-left)
		with := refusal.WithIgnored(standing, strings.Repeat("y", 1000))
		if (with != standing) != added || len(with) > message.MaxError || !strings.HasPrefix(with, standing) {
			t.Errorf("room for %d bytes: %d bytes of %d are added", left, len(with)-len(standing), left)
		}
	}
}
