package message_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

func TestTruncate_CutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer than that", 10, "longer …"},
		{"ééééé", 8, "éé…"},
		{"日本語日本語", 10, "日本…"},
		{"\xff\xfe and so on", 20, "? and so on"},
		{"a\xc3", 5, "a?"},
		{strings.Repeat("\xa9", 9), 8, "…"},
		{"a\nE1122 b\r\x1b[2Jc\x00\u2028d\u202ee", 40, "a E1122 b  [2Jc  d e"},
		{"a\nb and so on", 8, "a b a…"},
	} {
		if got := message.Truncate(test.text, test.most); got != test.want {
			t.Errorf("%q in %d bytes: %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("日本語\xff", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(8, min(most, 4096))
		got := message.Truncate(text, most)
		if len(got) > most {
			t.Errorf("%q in %d bytes: %q", text, most, got)
		}
		hostile.OneLine(t, got)
		if err := message.TruncateError(errors.New(text), most); err.Error() != got {
			t.Errorf("as an error %q, as a text %q", err, got)
		}
	})
}

func TestJoin_ListsTenReasonsAtMost(t *testing.T) {
	t.Parallel()
	reasons := func(n, length int) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%d%s", i, strings.Repeat(".", length)))
		}
		return all
	}
	for _, test := range []struct {
		reasons []string
		told    int
		end     string
	}{
		{nil, 0, ""},
		{reasons(1, 3), 1, "0..."},
		{reasons(1, 5000), 1, "…"},
		{reasons(3, 1), 3, "; 2."},
		{reasons(10, 1), 10, "; 9."},
		{reasons(11, 1), 10, "; and 1 more"},
		{reasons(30000, 1), 10, "; and 29990 more"},
		{reasons(8, 150), 6, "; and 2 more"},
		{reasons(4, 5000), 3, "; and 1 more"},
	} {
		text := message.Join(test.reasons, "; ", 960)
		told := strings.Count(text, "; ") + 1
		if strings.HasSuffix(text, " more") || text == "" {
			told--
		}
		if told != test.told || !strings.HasSuffix(text, test.end) || len(text) > 960 {
			t.Errorf("%d reasons: %d bytes with %d of them: %q, want %d and the end %q", len(test.reasons), len(text), told, text, test.told, test.end)
		}
	}
}

func TestInvalid_IsShortAndStillWrapsItsFields(t *testing.T) {
	t.Parallel()
	if err := message.Invalid(nil); err != nil {
		t.Errorf("no errors are %v", err)
	}
	var errs field.ErrorList
	for range 30000 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "x"), strings.Repeat("é", 1000), "allowed: less"))
	}
	err := message.Invalid(errs)
	if text := err.Error(); len(text) > message.MaxError || !utf8.ValidString(text) || !strings.Contains(text, "allowed: less") || !strings.Contains(text, " more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	var first *field.Error
	if !errors.As(err, &first) || first.Field != "spec.x" || len(first.Error()) > 200 {
		t.Errorf("the first reason is %v", first)
	}
	if errs[0].BadValue != strings.Repeat("é", 1000) {
		t.Error("what was given has changed")
	}
}

func TestTruncateError_StillWraps(t *testing.T) {
	t.Parallel()
	if message.TruncateError(nil, message.MaxError) != nil {
		t.Error("no error became one")
	}
	short := errors.New("short")
	if got := message.TruncateError(short, message.MaxError); got != short {
		t.Errorf("%v became %v", short, got)
	}
	long := message.TruncateError(fmt.Errorf("%s: %w", strings.Repeat("x", 1<<20), api.NewRetryError("later", time.Minute)), message.MaxError)
	var later *api.RetryError
	if len(long.Error()) > message.MaxError || !errors.As(long, &later) || later.RetryAfter() != time.Minute {
		t.Errorf("%d bytes, asks to come back: %v", len(long.Error()), later)
	}
}

func TestLimitEvents_TruncatesMessages(t *testing.T) {
	t.Parallel()
	to := record.NewFakeRecorder(10)
	events, svc, long := message.LimitEvents(to), &v1.Service{}, strings.Repeat("é", 1<<20)
	events.Event(svc, v1.EventTypeWarning, "Reason", long)
	events.Eventf(svc, v1.EventTypeWarning, "Reason", "%s%%", long)
	events.AnnotatedEventf(svc, nil, v1.EventTypeWarning, "Reason", "%s%%", long)
	events.Event(svc, v1.EventTypeWarning, "Reason", "100%s")
	for range 3 {
		if got := strings.TrimPrefix(<-to.Events, "Warning Reason "); len(got) > message.MaxEvent || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
	if got := <-to.Events; got != "Warning Reason 100%s" {
		t.Errorf("got %q", got)
	}
}

func TestJoinLimited_StaysShort(t *testing.T) {
	t.Parallel()
	names := strings.Split("a b c d e f g", " ")
	for n, want := range map[int]string{0: "", 1: "a", 5: "a, b, c, d, e", 6: "a, b, c, d, e and 1 more", 7: "a, b, c, d, e and 2 more"} {
		if got := message.JoinLimited(names[:n]); got != want {
			t.Errorf("of %d: %q, want %q", n, got, want)
		}
	}
}

func TestAt_NamesWhatTheTextDoesNot(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	for _, test := range []struct{ text, id, address, want string }{
		{"a step", "lb-1", "203.0.113.5", "a step [load balancer lb-1, 203.0.113.5]"},
		{"lb-1: a step", "lb-1", "203.0.113.5", "lb-1: a step [203.0.113.5]"},
		{"203.0.113.5: a step", "lb-1", "203.0.113.5", "203.0.113.5: a step [load balancer lb-1]"},
		{"lb-1 at 203.0.113.5", "lb-1", "203.0.113.5", "lb-1 at 203.0.113.5"},
		{"a step", "", "", "a step"},
		{long, "lb-1", "", strings.Repeat("x", message.MaxEvent-len("… [load balancer lb-1]")) + "… [load balancer lb-1]"},
	} {
		if got := message.At(test.text, test.id, test.address); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
