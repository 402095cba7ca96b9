package replay

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// patterns of what differs from one run to the next.
type patterns struct {
	id, address, time, object, set, requestID *regexp.Regexp
}

func newPatterns() patterns {
	return patterns{
		id: regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
		// An address within a sentence.
		address: regexp.MustCompile(`\b(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4}(?::{1,2}[0-9a-f]{1,4})+)\b`),
		time:    regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?`),
		// What Python prints differently at each start: where an object is, and
		// in which order the members of a set come.
		object:    regexp.MustCompile(`object at 0x[0-9a-f]+`),
		set:       regexp.MustCompile(`(Value should be one of: |Unknown attributes for argument [^:]*: )(.*)`),
		requestID: regexp.MustCompile(`req-[0-9a-f]{8}-[0-9a-f-]{27}`),
	}
}

// addressKeys returns the attributes with addresses that the cloud chooses.
func addressKeys() []string {
	return []string{"vip_address", "ip_address", "vrrp_ip", "ha_ip", "lb_network_ip"}
}

// compare returns the difference between an answer and the recorded one, "" for none. It
// records which IDs and addresses of the replay stand for the recorded ones.
func (m *machine) compare(step Step, got *httptest.ResponseRecorder) string {
	wantOrder, haveOrder := topLevelLists(m.decode(m.translate(step.Response))), topLevelLists(m.decode(got.Body.String()))
	if diff := m.compareContent(step, got); diff != "" {
		return diff
	}
	if diff := cmp.Diff(m.orders(wantOrder, true), m.orders(haveOrder, false)); diff != "" {
		return "order of the list: -recorded +got:\n" + diff
	}
	return ""
}

// compareContent is compare without the order of lists, which depends on random IDs.
func (m *machine) compareContent(step Step, got *httptest.ResponseRecorder) string {
	want, have := m.decode(m.translate(step.Response)), m.decode(got.Body.String())
	known := map[string]bool{}
	for _, ours := range m.ids {
		known[ours] = true
	}
	want, have = m.canonical(want, known), m.canonical(have, known)
	m.learn("", want, have)
	if diff := cmp.Diff(m.masked(want), m.masked(have)); diff != "" {
		return "-recorded +got:\n" + diff
	}
	return ""
}

func (m *machine) decode(text string) any {
	for _, mask := range []struct {
		pattern *regexp.Regexp
		by      string
	}{{m.patterns.object, "object"}, {m.patterns.time, "TIME"}, {m.patterns.requestID, "REQUEST"}} {
		text = mask.pattern.ReplaceAllString(text, mask.by)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return strings.Trim(text, " \n")
	}
	return value
}

// topLevelLists are the collections of a list answer, as the IDs or names of
// their objects.
func topLevelLists(answer any) map[string][]string {
	object, is := answer.(map[string]any)
	if !is {
		return nil
	}
	lists := map[string][]string{}
	for key, value := range object {
		items, is := value.([]any)
		if _, linked := object[key+"_links"]; !is || !linked {
			continue
		}
		for _, item := range items {
			one, _ := item.(map[string]any)
			for _, key := range []string{"id", "name"} {
				if text, is := one[key].(string); is {
					lists[key] = append(lists[key], text)
				}
			}
		}
	}
	return lists
}

// orders replaces IDs that were not known when the answer came.
func (m *machine) orders(lists map[string][]string, recorded bool) map[string][]string {
	if recorded {
		for _, values := range lists {
			for i := range values {
				values[i] = m.translate(values[i])
			}
		}
	}
	return lists
}

// canonical sorts all lists. Unknown IDs do not count for the order.
func (m *machine) canonical(value any, known map[string]bool) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = m.canonical(v[key], known)
		}
	case []any:
		for i := range v {
			v[i] = m.canonical(v[i], known)
		}
		slices.SortStableFunc(v, func(a, b any) int {
			return strings.Compare(m.sortText(a, known), m.sortText(b, known))
		})
	case string:
		return m.patterns.set.ReplaceAllStringFunc(v, func(text string) string {
			words := strings.Split(m.patterns.set.FindStringSubmatch(text)[2], ", ")
			slices.Sort(words)
			return strings.Join(words, ", ")
		})
	}
	return value
}

func (m *machine) sortText(value any, known map[string]bool) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return m.patterns.id.ReplaceAllStringFunc(string(text), func(id string) string {
		if known[id] {
			return id
		}
		return "ID"
	})
}

// learn maps the IDs and addresses at the same place of both answers.
func (m *machine) learn(key string, want, have any) {
	switch w := want.(type) {
	case map[string]any:
		h, is := have.(map[string]any)
		for key := range w {
			if is {
				m.learn(key, w[key], h[key])
			}
		}
	case []any:
		if h, is := have.([]any); is && len(h) == len(w) {
			for i := range w {
				m.learn(key, w[i], h[i])
			}
		}
	case string:
		h, is := have.(string)
		if !is || w == "" {
			return
		}
		isID := m.patterns.id.FindString(w) == w && m.patterns.id.FindString(h) == h
		if _, seen := m.ids[w]; !seen && (isID || slices.Contains(addressKeys(), key) && h != "") {
			m.ids[w] = h
		}
		if key == "faultstring" {
			m.learnAddresses(w, h)
		}
	}
}

// learnAddresses takes the addresses from two texts that differ in nothing else.
// What the request named itself is known, and has to be the same.
func (m *machine) learnAddresses(want, have string) {
	recorded, ours := m.patterns.address.FindAllString(want, -1), m.patterns.address.FindAllString(have, -1)
	bare := func(text string) string { return m.patterns.address.ReplaceAllString(text, "") }
	if len(recorded) != len(ours) || bare(want) != bare(have) {
		return
	}
	for i, address := range recorded {
		if _, seen := m.ids[address]; !seen && !strings.Contains(m.asked, address) {
			m.ids[address] = ours[i]
		}
	}
}

// masked replaces the recorded IDs by ours, so that what refers to another
// object than in the recording shows.
func (m *machine) masked(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = m.masked(v[key])
		}
	case []any:
		for i := range v {
			v[i] = m.masked(v[i])
		}
	case string:
		return m.maskedText(v)
	}
	return value
}

// maskedText hides the IDs that a text is about and no object has: those of
// what a refused request would have made.
func (m *machine) maskedText(text string) string {
	text = m.translate(text)
	if m.patterns.id.FindString(text) == text {
		return text
	}
	return m.patterns.id.ReplaceAllStringFunc(text, func(id string) string {
		for _, ours := range m.ids {
			if ours == id {
				return id
			}
		}
		if strings.HasPrefix(id, "00000000-") {
			return id
		}
		return "ID"
	})
}

// translate replaces what the recording calls by another name than we do.
func (m *machine) translate(text string) string {
	if ours, known := m.ids[text]; known {
		return ours
	}
	text = m.patterns.id.ReplaceAllStringFunc(text, func(id string) string {
		if ours, known := m.ids[id]; known {
			return ours
		}
		return id
	})
	for recorded, ours := range m.ids {
		if len(recorded) != len(ours) || !strings.Contains(recorded, "-") {
			text = replaceWord(text, recorded, ours)
		}
	}
	return text
}

// replaceWord replaces an address where it stands by itself.
func replaceWord(text, word, by string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return text
		}
		at += from
		end := at + len(word)
		if isAddressByte(text, at-1) || isAddressByte(text, end) {
			from = end
			continue
		}
		text = text[:at] + by + text[end:]
		from = at + len(by)
	}
}

func isAddressByte(text string, at int) bool {
	return at >= 0 && at < len(text) && strings.IndexByte("0123456789abcdef.:", text[at]) >= 0
}
