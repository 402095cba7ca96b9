package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gophercloud/utils/v2/openstack/clientconfig"
)

// readClouds takes the settings of [Global] that are not given from clouds.yaml, if use-clouds is
// set.
func (l *loader) readClouds() {
	global := &l.config.Global
	if !global.UseClouds {
		l.warnIdleClouds()
		return
	}
	lower, at, err := l.loadCloud()
	if err != nil {
		l.noClouds = true
		l.problem(fmt.Errorf("clouds.yaml: %w", err))
		return
	}
	if global.hasSecret() {
		lower = lower.only(global.AuthMethod())
	}
	l.source += " and " + string(at)
	l.overlay(lower, at)
}

func (l *loader) warnIdleClouds() {
	for _, key := range []string{"cloud", "clouds-file"} {
		if at := l.places[key]; strings.HasPrefix(string(at), "cloud.conf") {
			l.warn(warningAt(at, "is ignored without use-clouds=true"))
		}
	}
}

// overlay copies the values of the lower source for which the upper one has none. ID and name of
// the same thing are alternatives: a name in the upper source hides an ID in the lower one.
func (l *loader) overlay(lower Global, at place) {
	given := map[string]bool{}
	for key := range l.places {
		given[thing(key)] = true
	}
	s := globalSection()
	from, to := reflect.ValueOf(lower), structOf(l.config, s)
	for _, o := range s.options {
		if given[thing(o.key)] || from.Field(o.index).IsZero() {
			continue
		}
		name := o.clouds
		if name == "" {
			name = o.key
		}
		l.places[o.key] = place(fmt.Sprintf("%s %s", at, name))
		l.refuse(o, "", o.set(to.Field(o.index), fmt.Sprint(from.Field(o.index)), l.places[o.key]))
	}
}

// thing returns the subject of a key of [Global], which is the same for an ID and for a name.
func thing(key string) string {
	if key == "username" {
		return "user"
	}
	return strings.TrimSuffix(strings.TrimSuffix(key, "-id"), "-name")
}

// loadCloud reads the selected entry of clouds.yaml.
func (l *loader) loadCloud() (Global, place, error) {
	files, err := findClouds(l.env, l.config.Global.CloudsFile)
	if err != nil {
		return Global{}, "", err
	}
	name, err := files.choose(l.config.Global.Cloud, l.env)
	if err != nil {
		return Global{}, "", err
	}
	l.config.Global.Cloud, l.config.Global.CloudsFile = name, files.path
	return files.cloud(name, l.config.Global.Region)
}

// cloud returns the settings of an entry and its place. Without a region, they are those of the entry's own.
func (f cloudFiles) cloud(name, region string) (Global, place, error) {
	layers := f.layers(name)
	if region == "" {
		region = layers.region()
	}
	cloud, err := clientconfig.GetCloudFromYAML(&clientconfig.ClientOpts{Cloud: name, RegionName: region, YAMLOpts: f})
	if err != nil {
		return Global{}, "", fmt.Errorf("%s: %w", f.path, err)
	}
	global, err := fromCloud(cloud, layers.withRegion(region))
	if err != nil {
		return Global{}, "", fmt.Errorf("%s: cloud %q: %w", f.path, name, err)
	}
	global.Region = region
	return global, place(fmt.Sprintf("clouds.yaml cloud %q", name)), nil
}

// fromCloud converts an entry that the library has merged, and adds the values that the library
// ignores or merges wrongly.
func fromCloud(cloud *clientconfig.Cloud, layers cloudLayers) (Global, error) {
	var global Global
	values, err := tree(cloud)
	if err != nil {
		return Global{}, err
	}
	s, target := globalSection(), reflect.ValueOf(&global).Elem()
	for _, o := range s.options {
		if o.clouds != "" {
			target.Field(o.index).SetString(textAt(values, o.clouds))
		}
	}
	global.TrustID = layers.trustID()
	global.TLSInsecure = !layers.verify()
	global.setDefaultDomain(textAt(values, "auth.default_domain"))
	method, err := methodOfAuthType(string(cloud.AuthType), "auth_type")
	return global.only(method), err
}

// tree returns the entry as nested maps with the names of clouds.yaml.
func tree(cloud *clientconfig.Cloud) (map[string]any, error) {
	text, err := json.Marshal(cloud)
	if err != nil {
		return nil, fmt.Errorf("reading the entry: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("reading the entry: %w", err)
	}
	return values, nil
}

// textAt returns the text at a dotted path, or "".
func textAt(values map[string]any, path string) string {
	head, rest, found := strings.Cut(path, ".")
	if found {
		below, _ := values[head].(map[string]any)
		return textAt(below, rest)
	}
	text, _ := values[head].(string)
	return text
}

// cloudLayers are the parts of one entry, in order of precedence. The library does not support
// trusts, and its merge treats verify: false as not given.
type cloudLayers []cloudEntry

func (c cloudLayers) trustID() string {
	for _, entry := range c {
		if entry.Trust.Auth.TrustID != "" {
			return entry.Trust.Auth.TrustID
		}
	}
	return ""
}

func (c cloudLayers) verify() bool {
	for _, entry := range c {
		if entry.Cloud.Verify != nil {
			return *entry.Cloud.Verify
		}
	}
	return true
}

// region returns the region of the entry, else the first one of its list.
func (c cloudLayers) region() string {
	for _, entry := range c {
		if entry.Cloud.RegionName != "" {
			return entry.Cloud.RegionName
		}
	}
	for _, entry := range c {
		if len(entry.Cloud.Regions) > 0 {
			return entry.Cloud.Regions[0].Name
		}
	}
	return ""
}

// withRegion adds the values for a region, which take precedence over the entry's own.
func (c cloudLayers) withRegion(name string) cloudLayers {
	var values cloudLayers
	for _, entry := range c {
		for _, region := range entry.Cloud.Regions {
			if region.Name == name {
				values = append(values, cloudEntry{Cloud: region.Values})
			}
		}
	}
	return append(values, c...)
}

// choose returns the name of the cloud: the given one, that in OS_CLOUD, or the only entry.
func (f cloudFiles) choose(name string, env Environment) (string, error) {
	if name == "" {
		name = env.get("OS_CLOUD")
	}
	names := slices.Sorted(maps.Keys(f.clouds))
	if name == "" && len(names) == 1 {
		return names[0], nil
	}
	if name == "" {
		return "", fmt.Errorf("%s has %d clouds and none is selected: set cloud to one of %s", f.path, len(names), strings.Join(names, ", "))
	}
	if !slices.Contains(names, name) {
		return "", fmt.Errorf("%s has no cloud %q: allowed is %s", f.path, name, strings.Join(names, ", "))
	}
	return name, nil
}
