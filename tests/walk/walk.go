// Package walk takes an environment through sequences of steps that nobody thought of: users edit
// Services, nodes come and go, requests fail, other clients change the cloud, processes of the
// controller end. Whenever the environment has come to rest what is served has to be what is asked
// for, nothing may be left over, and on the way nothing may have been open to more, or served
// by less, than anybody asked for. In the end all that there is has to be what there would be
// had the last request been the first.
package walk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
)

// Step is one thing that happens. What A and B choose depends on the verb, and on what there
// is.
type Step struct {
	Verb string
	A, B int
	// Pause is how much time passes afterwards: an index of Pauses.
	Pause int
}

// Choices is how many values A and B have.
const Choices = 24

// Pauses are what may pass between two steps. A round of the controller takes some seconds to
// a minute.
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

// String prints a walk so that Parse reads it.
func (w Walk) String() string {
	words := []string{w.Start.Name}
	for _, step := range w.Steps {
		words = append(words, step.String())
	}
	return strings.Join(words, " ")
}

// Parse reads what String prints.
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
	// weight is how often it comes.
	weight int
	// afterAdoption says that it may change the address of a load balancer. By that alone a
	// Service is known that cloud-provider-openstack has put on the one of another, unless the
	// process has served it.
	afterAdoption bool
	do            func(r *run, a, b int)
}

// verbs are all kinds of steps, the most harmless first: shrinking prefers these.
func verbs() []verb {
	return []verb{
		{"wait", 2, false, func(*run, int, int) {}},
		{"create", 6, true, (*run).create},
		{"edit", 14, true, (*run).edit},
		{"node", 4, false, (*run).node},
		{"delete", 2, true, (*run).delete},
		{"recreate", 2, true, (*run).recreate},
		{"share", 3, true, (*run).share},
		{"restart", 1, false, (*run).restart},
		{"kill", 2, false, (*run).kill},
		{"fault", 8, false, (*run).fault},
		{"outage", 2, false, (*run).outage},
		{"flaky", 2, false, (*run).flaky},
		{"other", 5, true, (*run).other},
	}
}

// Rest is the verb of the step at which the environment comes to rest and is looked at.
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

// Verbs returns the names of all verbs but Rest, each as often as it has weight.
func Verbs() []string {
	var all []string
	for _, v := range verbs() {
		for range v.weight {
			all = append(all, v.name)
		}
	}
	return all
}
