package settings_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// given are the values that each annotation is tried with, by their names.
func given() map[string]string {
	return map[string]string{
		"empty": "", "spaces": "  ", "true": "true", "True": "True", "1": "1", "yes": "yes", "-1": "-1", "0": "0",
		"huge": "99999999999999999999", "unicode": "grün", "newline": "true\n",
	}
}

// readings returns how the settings show the value of an annotation.
func readings() map[string]func(*settings.Settings) string {
	limit := func(l model.Limit) string {
		if !l.Asked {
			return "default"
		}
		return strconv.Itoa(l.Value)
	}
	has := func(all []string, one string) string { return strconv.FormatBool(slices.Contains(all, one)) }
	proxy := map[model.Protocol]string{"": "off", model.Proxy: "true", model.ProxyV2: "v2"}
	return map[string]func(*settings.Settings) string{
		annotation.Internal:         func(s *settings.Settings) string { return strconv.FormatBool(s.Internal) },
		annotation.SourceRanges:     func(s *settings.Settings) string { return strings.Join(s.Access.SourceRanges, ",") },
		annotation.AvailabilityZone: func(s *settings.Settings) string { return s.LoadBalancer.AvailabilityZone },
		annotation.Class:            func(*settings.Settings) string { return "" }, // refused, as there is none
		annotation.ConnLimit:        func(s *settings.Settings) string { return limit(s.Listeners.Limits.ConnectionLimit) },
		annotation.TLSContainer:     func(s *settings.Settings) string { return s.Listeners.TLSContainerRef },
		annotation.Monitor:          func(s *settings.Settings) string { return strconv.FormatBool(s.Monitor.Enabled) },
		annotation.FlavorID:         func(s *settings.Settings) string { return s.LoadBalancer.FlavorID },
		annotation.FloatingNetID:    func(s *settings.Settings) string { return s.Floating.NetworkID },
		annotation.FloatingPattern:  func(s *settings.Settings) string { return s.Floating.Pattern },
		annotation.FloatingSubnet:   func(s *settings.Settings) string { return s.Floating.SubnetID },
		annotation.FloatingTags:     func(s *settings.Settings) string { return s.Floating.Tags },
		annotation.MonitorDelay:     func(s *settings.Settings) string { return strconv.Itoa(s.Monitor.Delay) },
		annotation.MonitorRetries:   func(s *settings.Settings) string { return strconv.Itoa(s.Monitor.MaxRetries) },
		annotation.MonitorDown:      func(s *settings.Settings) string { return strconv.Itoa(s.Monitor.MaxRetriesDown) },
		annotation.MonitorTimeout:   func(s *settings.Settings) string { return strconv.Itoa(s.Monitor.Timeout) },
		annotation.Hostname:         func(s *settings.Settings) string { return s.Status.Hostname },
		annotation.KeepFloatingIP: func(s *settings.Settings) string {
			if len(s.Malformed) > 0 && s.Floating.Keep {
				return "kept"
			}
			return strconv.FormatBool(s.Floating.Keep)
		},
		annotation.Method:              func(s *settings.Settings) string { return s.Pools.Algorithm },
		annotation.LoadBalancerAddress: func(*settings.Settings) string { return "" },
		annotation.LoadBalancerID:      func(s *settings.Settings) string { return s.LoadBalancer.ID },
		annotation.MemberSubnetID:      func(s *settings.Settings) string { return s.Members.SubnetID },
		annotation.NetworkID:           func(s *settings.Settings) string { return s.VIP.NetworkID },
		annotation.NodeSelector:        func(s *settings.Settings) string { return s.Members.NodeSelector.String() },
		annotation.PortID:              func(s *settings.Settings) string { return s.VIP.PortID },
		annotation.ProxyProtocol:       func(s *settings.Settings) string { return proxy[s.Listeners.Proxy] },
		annotation.SubnetID:            func(s *settings.Settings) string { return s.VIP.SubnetID },
		annotation.ClientData:          func(s *settings.Settings) string { return limit(s.Listeners.Limits.TimeoutClientData) },
		annotation.MemberConnect:       func(s *settings.Settings) string { return limit(s.Listeners.Limits.TimeoutMemberConnect) },
		annotation.MemberData:          func(s *settings.Settings) string { return limit(s.Listeners.Limits.TimeoutMemberData) },
		annotation.TCPInspect:          func(s *settings.Settings) string { return limit(s.Listeners.Limits.TimeoutTCPInspect) },
		annotation.ForwardedFor:        func(s *settings.Settings) string { return has(s.Listeners.Headers, "X-Forwarded-For") },
	}
}

// everyKey is a cloud.conf that has a value of its own for all that it has a key for.
func everyKey() *config.Config {
	return fixture.Config(func(c *config.LoadBalancer) {
		c.AvailabilityZone, c.FlavorID, c.LBMethod, c.NodeSelector, c.MemberSubnetID = "zone", "large", "SOURCE_IP", "pool=a", "members"
		c.FloatingNetworkID, c.FloatingSubnet, c.FloatingSubnetID, c.FloatingSubnetTags = "public", "pattern*", "floating-subnet", "tags"
		c.SubnetID, c.NetworkID, c.DefaultTLSContainerRef = "subnet", "network", "https://barbican.example.com/v1/secrets/8a7c2e56-8b0f-4b9e-9c0e-0d6c3c5f5f01"
		c.MonitorDelay, c.MonitorTimeout, c.MonitorMaxRetries, c.MonitorMaxRetriesDown = fixture.Seconds(7), fixture.Seconds(6), 5, 4
	})
}

// made returns the result for a value, in the letters of the table.
func made(t *testing.T, name, value string) string {
	t.Helper()
	read := readings()[name]
	before, _, _ := fixture.Parse(t, fixture.Service(), everyKey())
	s, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(name, value)), everyKey())
	errs = append(errs, s.For(fixture.Amphora()).Validate()...)
	got := read(s)
	switch trimmed := strings.TrimSpace(value); {
	case len(s.Malformed) > 0 && s.Malformed[0].NewRefused:
		return "?"
	case len(errs) > 0:
		return "!"
	case got == read(before):
		return "-"
	case got == "":
		return "none"
	case got == value:
		return "="
	case got == trimmed:
		return "trimmed"
	}
	return got
}

// theirValues reads what cloud-provider-openstack makes of them: by annotation, then by
// the name of the value.
func theirValues(t *testing.T) (byName map[string]map[string]string, columns []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/peer-values.txt")
	if err != nil {
		t.Fatal(err)
	}
	byName = map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
		case columns == nil:
			columns = cells[1:]
		default:
			byName[cells[0]] = map[string]string{}
			for i, cell := range cells[1:] {
				byName[cells[0]][columns[i]] = cell
			}
		}
	}
	return byName, columns
}

// difference is a value of which something else is made here than there.
type difference struct{ theirs, ours, value string }

// The page on the switch lists each value of which something else is made here. It is
// written by make generate, so that it is complete.
func TestReference_ListsValuesThatMeanSomethingElse(t *testing.T) {
	t.Parallel()
	theirs, columns := theirValues(t)
	differs := map[difference][]string{}
	for name, row := range theirs {
		if readings()[name] == nil || len(row) != len(columns) {
			t.Fatalf("%s has %d values, want %d, and to be read", name, len(row), len(columns))
		}
		for _, column := range columns[1:] { // the first is absent, which is what others are compared with
			ours := made(t, name, given()[column])
			if there := row[column]; ours != there {
				d := difference{there, ours, column}
				differs[d] = append(differs[d], "`"+name[strings.LastIndex(name, "/")+1:]+"`")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(readings())) {
		if theirs[name] == nil {
			t.Errorf("nothing says what cloud-provider-openstack makes of %s", name)
		}
	}
	golden.Part(t, "../../../../docs/migration-reference.md", "values", differenceTable(t, differs))
}

// differenceTable prints the differences, those of the same annotations in one row.
func differenceTable(t *testing.T, differs map[difference][]string) string {
	t.Helper()
	shown := map[string]string{
		"empty": "an empty value", "spaces": "only spaces", "huge": "a number of 20 digits", "unicode": "non-ASCII letters",
		"newline": "a trailing line feed", "true": "the word `true`", "True": "the word `True`", "1": "the number `1`", "yes": "the word `yes`",
		"-1": "the number `-1`", "0": "the number `0`",
	}
	says := map[string]string{
		"-": "as without the annotation", "none": "overrides the value in cloud.conf", "=": "is passed on unchanged", "!": "the Service is refused",
		"?": "is passed on, and rejected by OpenStack", "0": "no node is selected: the pools are empty", "trimmed": "the same without the line feed",
		"kept": "the floating IP is kept, with an event",
	}
	rows := map[string][]string{}
	for d, names := range differs {
		there, here := says[d.theirs], says[d.ours]
		if there == "" || here == "" || shown[d.value] == "" {
			t.Errorf("no words for %+v of %s", d, names)
		}
		slices.Sort(names)
		key := fmt.Sprintf("%s | %s | %s |", strings.Join(names, ", "), there, here)
		rows[key] = append(rows[key], shown[d.value])
	}
	table := "| value | of | there | here |\n|---|---|---|---|\n"
	for _, key := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Compare(a, b) }) {
		slices.Sort(rows[key])
		table += "| " + strings.Join(rows[key], ", ") + " | " + key + "\n"
	}
	return table
}
