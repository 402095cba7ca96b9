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

// maxFileSize in bytes bounds what is read of cloud.conf and of clouds.yaml.
const maxFileSize = 1 << 20

// Environment looks up a variable of the process environment, as os.LookupEnv
// does. Nil is an empty environment.
type Environment func(key string) (string, bool)

// get returns the variable's value, "" when there is none.
func (e Environment) get(key string) string {
	if e == nil {
		return ""
	}
	value, _ := e(key)
	return value
}

// LoadFile reads the cloud.conf at the path. Without a path all comes from the
// OS_* variables of the environment. See Load for the rest.
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

// Load reads the text of a cloud.conf, and clouds.yaml if the text says so. The
// environment serves only to find clouds.yaml.
//
// The error joins every problem there is, one line each: *ValueError for a bad
// value, *MissingError for a missing one. It is nil where all of them concern load
// balancers only: these are in Config.Refused, so that nodes are served. Warnings are
// worth showing also when there is an error, for a misspelt key may be the reason for it.
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

// readBounded reads all, without a byte order mark, up to maxFileSize.
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

// loader gathers a Config from its sources and remembers what it found.
type loader struct {
	env     Environment
	config  *Config
	source  string           // of [Global], for messages
	fromEnv bool             // the environment takes the place of cloud.conf
	places  map[string]place // of the keys of [Global] that were given
	refused map[string]bool  // keys of [Global] that have a bad value
	// written are the places in cloud.conf that have a value.
	written  map[place]bool
	warnings []Warning
	// problems are all that there are; balancerProblems are those of them that concern
	// load balancers only.
	problems         []error
	balancerProblems int
	noClouds         bool // clouds.yaml should have been read and could not be
}

// newLoader starts with all defaults.
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

// defaults returns the defaults of all options of sections that appear once. It decodes them only once: a
// configuration that is followed is read every few seconds. No list and no pointer has a default, so that
// copies share nothing.
var defaults = sync.OnceValue(func() Config {
	l := &loader{config: &Config{}}
	for _, s := range sections() {
		if s.named {
			continue
		}
		for _, o := range s.options {
			o.setDefault(l.structOf(s).Field(o.index))
		}
	}
	return *l.config
})

// structOf is the struct of a section that appears once.
func (l *loader) structOf(s section) reflect.Value {
	return reflect.ValueOf(l.config).Elem().Field(s.index)
}

// warn adds a warning about no place in particular.
func (l *loader) warn(format string, args ...any) {
	l.addWarning(Warning{Text: fmt.Sprintf(format, args...)})
}

// warnAt adds a warning that begins with the place that it is about.
func (l *loader) warnAt(at place, format string, args ...any) {
	l.addWarning(Warning{Text: string(at) + " " + fmt.Sprintf(format, args...), Place: string(at)})
}

func (l *loader) addWarning(w Warning) {
	if !slices.Contains(l.warnings, w) {
		l.warnings = append(l.warnings, w)
	}
}

func (l *loader) problem(err error) {
	if err != nil {
		l.problems = append(l.problems, err)
	}
}

// refuse adds the problem that an option has, if it has one; name is that of a section
// which may appear many times, else "".
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

// finish fills in clouds.yaml, checks the whole and returns it.
func (l *loader) finish() (*Config, []Warning, error) {
	l.complete()
	if len(l.problems) > l.balancerProblems {
		return nil, l.warnings, errors.Join(l.problems...)
	}
	return l.config, l.warnings, nil
}

// complete fills in clouds.yaml and checks the whole.
func (l *loader) complete() {
	l.readClouds()
	l.checkGlobal()
	l.checkLoadBalancer()
	l.checkMetadata()
	l.checkNode()
	l.checkRegionalIDs()
}
