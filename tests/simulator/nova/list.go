package nova

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// listServers answers GET /servers and /servers/detail: newest first.
func (n *Nova) listServers(c *call, detail bool) (int, any, error) {
	facts := n.gatherFacts()
	n.mu.Lock()
	defer n.mu.Unlock()
	query := c.URL.Query()
	matches, err := n.serverFilter(c, query, facts)
	if err != nil {
		return 0, nil, err
	}
	var matched []*server
	for _, record := range slices.Backward(n.servers) {
		if matches(record) {
			matched = append(matched, record)
		}
	}
	if err := sortServers(matched, query); err != nil {
		return 0, nil, err
	}
	page, more, err := pageOf(n.options.MaxPageSize, matched, query, func(record *server) string { return record.spec.ID })
	if err != nil {
		return 0, nil, err
	}
	servers := make([]any, 0, len(page))
	for _, record := range page {
		servers = append(servers, n.listedServer(c, record, facts, detail))
	}
	body := map[string]any{"servers": servers}
	if more {
		body["servers_links"] = []link{nextPage(c, page[len(page)-1].spec.ID)}
	}
	return http.StatusOK, body, nil
}

func (n *Nova) listedServer(c *call, record *server, facts *networkFacts, detail bool) any {
	switch {
	case n.down[record.spec.Cell]:
		return partialBody(c, record, detail)
	case detail:
		return serverBody(c, record, facts)
	}
	return map[string]any{"id": record.spec.ID, "name": record.spec.Name, "links": serverLinks(c, record)}
}

// serverFilter reads the filters of a list. Unknown ones are ignored, as by Nova.
func (n *Nova) serverFilter(c *call, query url.Values, facts *networkFacts) (func(*server) bool, error) {
	name, err := pattern(query, "name")
	if err != nil {
		return nil, err
	}
	address, err := pattern(query, "ip")
	if err != nil {
		return nil, err
	}
	since, err := changesSince(query)
	if err != nil {
		return nil, err
	}
	everywhere := query.Get("all_tenants") == "1" || strings.EqualFold(query.Get("all_tenants"), "true")
	if everywhere && !c.caller.IsAdmin() {
		return nil, forbidden("os_compute_api:servers:index:get_all_tenants")
	}
	return func(record *server) bool {
		if !everywhere && record.spec.ProjectID != c.caller.ProjectID {
			return false
		}
		if n.down[record.spec.Cell] && c.minor < 69 {
			return false
		}
		if since.IsZero() && !record.deleted.IsZero() || record.updated.Before(since) {
			return false
		}
		return matchesText(name, record.spec.Name) && matchesAddress(address, facts, record) &&
			among(query["status"], record.status) && among(query["uuid"], record.spec.ID) &&
			among(query["flavor"], record.flavor.ID) && among(query["availability_zone"], record.spec.Zone) &&
			(c.minor < 26 || hasTags(query, record.spec.Tags))
	}, nil
}

// pattern compiles a filter that is a regular expression, as the database
// matches it: anywhere in the text and without regard to case.
func pattern(query url.Values, key string) (*regexp.Regexp, error) {
	if query.Get(key) == "" {
		return nil, nil
	}
	compiled, err := regexp.Compile("(?i)" + query.Get(key))
	if err != nil {
		return nil, badRequest("Invalid input for query parameters %s. Value: %s. '%s' is not a 'regex'", key, query.Get(key), query.Get(key))
	}
	return compiled, nil
}

func matchesText(wanted *regexp.Regexp, text string) bool {
	return wanted == nil || wanted.MatchString(text)
}

func matchesAddress(wanted *regexp.Regexp, facts *networkFacts, record *server) bool {
	if wanted == nil {
		return true
	}
	for _, port := range facts.ports[record.spec.ID] {
		for _, fixed := range port.FixedIPs {
			if wanted.MatchString(fixed.Address) {
				return true
			}
		}
	}
	return false
}

// among reports whether a filter is absent or has the value.
func among(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(text string) bool { return strings.EqualFold(text, value) })
}

func hasTags(query url.Values, tags []string) bool {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	lacks := func(tag string) bool { return !has(tag) }
	all, some := query.Get("tags"), query.Get("tags-any")
	return (all == "" || !slices.ContainsFunc(strings.Split(all, ","), lacks)) &&
		(some == "" || slices.ContainsFunc(strings.Split(some, ","), has))
}

func changesSince(query url.Values) (time.Time, error) {
	text := query.Get("changes-since")
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if since, err := time.Parse(layout, text); err == nil {
			return since, nil
		}
	}
	return time.Time{}, badRequest("Invalid input for query parameters changes-since. Value: %s. '%s' is not a 'date-time'", text, text)
}

// pageOf returns the page after the marker; more is set if it is full.
func pageOf[T any](limit int, records []T, query url.Values, id func(T) string) (page []T, more bool, err error) {
	if text := query.Get("limit"); text != "" {
		asked, err := strconv.Atoi(text)
		if err != nil || asked < 0 {
			return nil, false, badRequest("Invalid input for query parameters limit. Value: %s. '%s' does not match '^[0-9]*$'", text, text)
		}
		limit = min(limit, asked)
	}
	if marker := query.Get("marker"); marker != "" {
		at := slices.IndexFunc(records, func(record T) bool { return id(record) == marker })
		if at < 0 {
			return nil, false, badRequest("marker [%s] not found", marker)
		}
		records = records[at+1:]
	}
	page = records[:min(limit, len(records))]
	return page, limit > 0 && len(page) == limit, nil
}

// nextPage returns the link to the next page of a list, with the same query.
func nextPage(c *call, marker string) link {
	query := c.URL.Query()
	query.Del("marker")
	encoded := query.Encode()
	if encoded != "" {
		encoded += "&"
	}
	return link{Rel: "next", HRef: wire.Self(c.Request) + "?" + encoded + "marker=" + url.QueryEscape(marker)}
}
