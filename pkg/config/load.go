package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
)

// maxFileSize is the maximum size of cloud.conf and of clouds.yaml, in bytes.
const maxFileSize = 1 << 20

// Environment looks up an environment variable, as os.LookupEnv does. Nil is an empty environment.
type Environment func(key string) (string, bool)

// get returns the variable's value, "" if it is not set.
func (e Environment) get(key string) string {
	if e == nil {
		return ""
	}
	value, _ := e(key)
	return value
}

// LoadFile reads the cloud.conf at the path. Without a path, the OS_* environment variables provide
// all settings. See Load for the results.
func LoadFile(path string, env Environment) (*Config, []Warning, error) {
	if path == "" {
		l := newLoader(env)
		l.readEnvironment()
		return l.finish()
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening cloud config: %w", err)
	}
	defer file.Close()
	config, warnings, err := Load(file, env)
	if err != nil {
		return nil, warnings, fmt.Errorf("reading cloud config %s: %w", path, err)
	}
	return config, warnings, nil
}

// Load parses the text of a cloud.conf, and reads clouds.yaml if use-clouds is set. The environment
// is used only to find clouds.yaml.
//
// The error joins all problems, one line each: *ValueError for a bad value, *MissingError for a
// missing one. It is nil if all of them concern only load balancers: Config.Refused contains these,
// so that nodes are served nevertheless. Warnings are also useful with an error, because a
// misspelled key may be its cause.
func Load(text io.Reader, env Environment) (*Config, []Warning, error) {
	content, err := readBounded(text)
	if err != nil {
		return nil, nil, err
	}
	l := newLoader(env)
	if err := l.readConf(content); err != nil {
		return nil, nil, err
	}
	return l.finish()
}

// readBounded reads at most maxFileSize bytes, and drops a byte order mark.
func readBounded(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(content) > maxFileSize {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFileSize)
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}

// loader builds a Config from its sources.
type loader struct {
	env     Environment
	config  *Config
	source  string           // of [Global], for messages
	fromEnv bool             // the environment replaces cloud.conf
	places  map[string]place // keys of [Global] that are given
	refused map[string]bool  // keys of [Global] with bad values
	// written holds the places in cloud.conf that have a value.
	written  map[place]bool
	warnings []Warning
	// problems are all problems; balancerProblems are those that concern only load balancers.
	problems         []error
	balancerProblems int
	noClouds         bool // clouds.yaml is required and cannot be read
}

// newLoader returns a loader with all defaults.
func newLoader(env Environment) *loader {
	config := defaults()
	config.LoadBalancerClass = map[string]*LoadBalancerClass{}
	return &loader{
		env:     env,
		config:  &config,
		source:  "cloud.conf [Global]",
		places:  map[string]place{},
		refused: map[string]bool{},
		written: map[place]bool{},
	}
}

// defaults returns the defaults of all options of sections without names. They are decoded once,
// because the reloader loads the configuration every few seconds. No list or pointer has a default,
// so that copies share nothing.
var defaults = sync.OnceValue(func() Config {
	var config Config
	for _, s := range sections() {
		if s.named {
			continue
		}
		for _, o := range s.options {
			o.setDefault(structOf(&config, s).Field(o.index))
		}
	}
	return config
})

// structOf returns the struct of a section without a name.
func structOf(config *Config, s section) reflect.Value {
	return reflect.ValueOf(config).Elem().Field(s.index)
}

// warn adds warnings, each once.
func (l *loader) warn(all ...Warning) {
	for _, w := range all {
		if !slices.Contains(l.warnings, w) {
			l.warnings = append(l.warnings, w)
		}
	}
}

func (l *loader) problem(err error) {
	if err != nil {
		l.problems = append(l.problems, err)
	}
}

// refuse adds the problem of an option, if there is one. name is the name of the section, or "".
func (l *loader) refuse(o option, name string, err error) {
	if err == nil {
		return
	}
	l.problem(err)
	refused := &l.config.Refused
	switch o.section {
	case globalSection().name:
		l.refused[o.key] = true
	case "LoadBalancer":
		l.balancerProblems++
		refused.LoadBalancers = append(refused.LoadBalancers, err)
	case "LoadBalancerClass":
		l.balancerProblems++
		if refused.Classes == nil {
			refused.Classes = map[string][]error{}
		}
		refused.Classes[name] = append(refused.Classes[name], err)
	}
}

// finish reads clouds.yaml, validates the configuration and returns it.
func (l *loader) finish() (*Config, []Warning, error) {
	l.complete()
	if len(l.problems) > l.balancerProblems {
		return nil, l.warnings, errors.Join(l.problems...)
	}
	return l.config, l.warnings, nil
}

// complete reads clouds.yaml and validates the configuration.
func (l *loader) complete() {
	l.readClouds()
	l.checkGlobal()
	l.checkLoadBalancer()
	l.warn(l.config.Metadata.warnings()...)
	l.checkNode()
	l.warn(l.env.regionalIDWarnings(l.config.Global.Region)...)
}
