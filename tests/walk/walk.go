// Package walk takes an environment through random sequences of steps: users edit Services, nodes
// come and go, requests fail, other clients change the cloud, processes of the controller end.
// Whenever the environment is at rest, the served state must equal the requested one, and nothing
// may be left over. In between, no port may have been open to clients, or without members, against
// all requests of that time. The final state must equal that of an environment that got only the
// last requests.
package walk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
)

// Step is one action. The meaning of A and B depends on the verb, and on the state.
type Step struct {
	Verb string
	A, B int
	// Pause is the time after the step: an index of Pauses.
	Pause int
}

// Choices is the number of values of A and of B.
const Choices = 24

// Pauses returns the possible times between two steps. A round of the controller takes some seconds
// to a minute.
func Pauses() []time.Duration {
	return []time.Duration{0, time.Second, 4 * time.Second, 15 * time.Second, 50 * time.Second, 4 * time.Minute}
}

// String prints a step without blanks.
func (s Step) String() string { return fmt.Sprintf("%s.%d.%d.%d", s.Verb, s.A, s.B, s.Pause) }

// Walk is a sequence of steps from a start.
type Walk struct {
	Start sweep.Start
	Steps []Step
}

// String prints a walk in the format of Parse.
func (w Walk) String() string {
	words := []string{w.Start.Name}
	for _, step := range w.Steps {
		words = append(words, step.String())
	}
	return strings.Join(words, " ")
}

// Parse reads the output of String.
func Parse(text string) (Walk, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Walk{}, fmt.Errorf("a walk begins with the name of its start")
	}
	starts := sweep.Starts()
	at := slices.IndexFunc(starts, func(s sweep.Start) bool { return s.Name == words[0] })
	if at < 0 {
		return Walk{}, fmt.Errorf("no walk starts at %q", words[0])
	}
	walk := Walk{Start: starts[at]}
	for _, word := range words[1:] {
		step, err := parseStep(word)
		if err != nil {
			return Walk{}, err
		}
		walk.Steps = append(walk.Steps, step)
	}
	return walk, nil
}

func parseStep(word string) (Step, error) {
	parts := strings.Split(word, ".")
	if len(parts) != 4 || verbOf(parts[0]) == nil {
		return Step{}, fmt.Errorf("%q is no step", word)
	}
	var numbers [3]int
	for i, part := range parts[1:] {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n >= Choices {
			return Step{}, fmt.Errorf("%q is no step: %q is no number below %d", word, part, Choices)
		}
		numbers[i] = n
	}
	if numbers[2] >= len(Pauses()) {
		return Step{}, fmt.Errorf("%q is no step: there are %d pauses", word, len(Pauses()))
	}
	return Step{Verb: parts[0], A: numbers[0], B: numbers[1], Pause: numbers[2]}, nil
}

// verb is a kind of step.
type verb struct {
	name string
	// weight is its relative frequency.
	weight int
	// afterAdoption is set if it may change the address of a load balancer. A Service that
	// cloud-provider-openstack has put on the load balancer of another one is identified only by
	// that address, unless this process has served it.
	afterAdoption bool
	do            func(r *run, a, b int)
}

// verbs are all kinds of steps, the most harmless first: shrinking prefers these.
func verbs() []verb {
	return []verb{
		{"wait", 2, false, func(*run, int, int) {}},
		{"create", 6, true, (*run).create},
		{"edit", 14, true, (*run).edit},
		{"set", 8, true, (*run).set},
		{"node", 4, false, (*run).node},
		{"pods", 4, false, (*run).pods},
		{"delete", 2, true, (*run).delete},
		{"recreate", 2, true, (*run).recreate},
		{"share", 3, true, (*run).share},
		{"name", 3, true, (*run).name},
		{"metrics", 2, true, (*run).metrics},
		{"families", 3, true, (*run).families},
		{"provider", 3, true, (*run).provider},
		{"manage", 3, true, (*run).manage},
		{"restart", 1, false, (*run).restart},
		{"kill", 2, false, (*run).kill},
		{"fault", 8, false, (*run).fault},
		{"outage", 2, false, (*run).outage},
		{"flaky", 2, false, (*run).flaky},
		{"other", 5, true, (*run).other},
	}
}

// Rest is the verb of the step that waits until the environment is at rest and checks it.
const Rest = "rest"

func verbOf(name string) *verb {
	all := append(verbs(), verb{name: Rest, do: (*run).rest})
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// Verbs returns the names of all verbs except Rest, each as often as its weight.
func Verbs() []string {
	var all []string
	for _, v := range verbs() {
		for range v.weight {
			all = append(all, v.name)
		}
	}
	return all
}
