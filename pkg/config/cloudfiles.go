package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/gophercloud/utils/v2/openstack/clientconfig"
	"go.yaml.in/yaml/v3"
)

// cloudEntry is one entry of clouds.yaml, secure.yaml or clouds-public.yaml.
type cloudEntry struct {
	Cloud clientconfig.Cloud
	Trust struct {
		Auth struct {
			TrustID string `yaml:"trust_id"`
		} `yaml:"auth"`
	}
}

// UnmarshalYAML decodes the entry into the library's type, and the trust ID, which that type lacks.
func (e *cloudEntry) UnmarshalYAML(node *yaml.Node) error {
	if err := node.Decode(&e.Cloud); err != nil {
		return err
	}
	return node.Decode(&e.Trust)
}

// cloudFiles holds the entries by name. It replaces the library's loader, which reads the
// environment of the process.
type cloudFiles struct {
	path   string // of clouds.yaml
	clouds map[string]cloudEntry
	secure map[string]cloudEntry
	public map[string]cloudEntry
}

// LoadCloudsYAML returns the entries of clouds.yaml.
func (f cloudFiles) LoadCloudsYAML() (map[string]clientconfig.Cloud, error) {
	return libraryClouds(f.clouds), nil
}

// LoadSecureCloudsYAML returns the entries of secure.yaml, if there is one.
func (f cloudFiles) LoadSecureCloudsYAML() (map[string]clientconfig.Cloud, error) {
	return libraryClouds(f.secure), nil
}

// LoadPublicCloudsYAML returns the entries of clouds-public.yaml, if there is
// one.
func (f cloudFiles) LoadPublicCloudsYAML() (map[string]clientconfig.Cloud, error) {
	return libraryClouds(f.public), nil
}

func libraryClouds(entries map[string]cloudEntry) map[string]clientconfig.Cloud {
	clouds := make(map[string]clientconfig.Cloud, len(entries))
	for name, entry := range entries {
		clouds[name] = entry.Cloud
	}
	return clouds
}

// layers returns the parts of an entry, in order of precedence.
func (f cloudFiles) layers(name string) cloudLayers {
	cloud := f.clouds[name]
	profile := cloud.Cloud.Profile
	if profile == "" {
		profile = cloud.Cloud.Cloud
	}
	return cloudLayers{f.secure[name], cloud, f.public[profile]}
}

// findClouds reads clouds.yaml and the files beside it. An empty path means OS_CLIENT_CONFIG_FILE,
// else the first default location that has the file.
func findClouds(env Environment, path string) (cloudFiles, error) {
	if path == "" {
		path = env.get("OS_CLIENT_CONFIG_FILE")
	}
	if path != "" {
		return readCloudFiles(path)
	}
	return firstClouds(usualClouds(env))
}

func firstClouds(paths []string) (cloudFiles, error) {
	for _, path := range paths {
		files, err := readCloudFiles(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
	}
	return cloudFiles{}, fmt.Errorf("none of these files exists: %s: set clouds-file", strings.Join(paths, ", "))
}

// usualClouds returns the default locations of the openstack command.
func usualClouds(env Environment) []string {
	folders := []string{"."}
	if home := env.get("XDG_CONFIG_HOME"); home != "" {
		folders = append(folders, filepath.Join(home, "openstack"))
	} else if home := env.get("HOME"); home != "" {
		folders = append(folders, filepath.Join(home, ".config", "openstack"))
	}
	var paths []string
	for _, folder := range append(folders, "/etc/openstack") {
		paths = append(paths, filepath.Join(folder, "clouds.yaml"), filepath.Join(folder, "clouds.yml"))
	}
	return paths
}

func readCloudFiles(path string) (cloudFiles, error) {
	clouds, err := readEntries(path, "clouds")
	if err != nil {
		return cloudFiles{}, err
	}
	secure, err := readCompanion(path, "secure", "clouds")
	if err != nil {
		return cloudFiles{}, err
	}
	public, err := readCompanion(path, "clouds-public", "public-clouds")
	if err != nil {
		return cloudFiles{}, err
	}
	return cloudFiles{path: path, clouds: clouds, secure: secure, public: public}, nil
}

// readCompanion reads an optional file beside clouds.yaml.
func readCompanion(path, name, key string) (map[string]cloudEntry, error) {
	for _, ending := range []string{".yaml", ".yml"} {
		entries, err := readEntries(filepath.Join(filepath.Dir(path), name+ending), key)
		if !errors.Is(err, fs.ErrNotExist) {
			return entries, err
		}
	}
	return nil, nil
}

// readEntries reads the entries below the key of a YAML file.
func readEntries(path, key string) (map[string]cloudEntry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := readBounded(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	entries, err := parseEntries(content, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return entries, nil
}

// parseEntries parses YAML. Its errors contain no values of the file, because any of them may be a
// secret.
func parseEntries(content []byte, key string) (map[string]cloudEntry, error) {
	var document map[string]yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, withoutValues(err)
	}
	entries := map[string]cloudEntry{}
	node, found := document[key]
	if !found {
		return entries, nil
	}
	if err := node.Decode(&entries); err != nil {
		return nil, withoutValues(err)
	}
	return entries, nil
}

func withoutValues(err error) error {
	quoted := regexp.MustCompile("(?s)`.*`|'.*'|\".*\"")
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		lines = append(lines, quoted.ReplaceAllString(strings.TrimSpace(line), redacted))
	}
	return errors.New(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.Join(lines, " ")))
}
