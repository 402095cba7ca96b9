package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Output returns the absolute path of a file in the directory for the output of this run, which e2e.sh names by E2E_OUT.
// Tests run in the directory of their package.
func Output(elements ...string) string {
	directory := cmp.Or(os.Getenv("E2E_OUT"), "../../out/e2e/go-test")
	path := filepath.Join(append([]string{directory}, elements...)...)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// artifactsOf returns the directory of what a test leaves.
func artifactsOf(test string) string { return Output("scenarios", filepath.FromSlash(test)) }

// keepEvents writes the events of a namespace, or of all for "", into the directory of a test.
func (env *Environment) keepEvents(ctx context.Context, test, namespace string) error {
	text, err := env.printedEvents(ctx, namespace)
	return keep(test, "events.txt", text, err)
}

// keepController writes all that the controller has logged since its first start, and what
// it counts, into the directory of a test.
func (env *Environment) keepController(ctx context.Context, test string) error {
	metrics, metricsErr := env.printedMetrics(ctx)
	log, logErr := os.ReadFile(env.CCM.LogFile())
	return errors.Join(keep(test, "metrics.txt", metrics, metricsErr), keep(test, "controller.log", string(log), logErr))
}

// keep writes a file into the directory of a test. What cannot be had has its error in its
// place.
func keep(test, name, text string, failed error) error {
	if failed != nil {
		text = failed.Error() + "\n"
	}
	directory := artifactsOf(test)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644)
}

// printedMetrics returns what the controller counts, a line for each sample.
func (env *Environment) printedMetrics(ctx context.Context) (string, error) {
	if err := env.CCM.Err(); err != nil {
		return "", err
	}
	counted, err := env.CCM.Metrics(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		for _, sample := range counted[name] {
			fmt.Fprintf(&text, "%s %s\n", sample.Metric, sample.Value)
		}
	}
	return text.String(), nil
}

// printedEvents returns the events of a namespace, or of all for "", in the order of their last occurrence.
func (env *Environment) printedEvents(ctx context.Context, namespace string) (string, error) {
	list, err := env.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	var text strings.Builder
	for _, event := range list.Items {
		object := event.InvolvedObject
		fmt.Fprintf(&text, "%s %s %s %s ×%d: %s\n", eventTime(event).UTC().Format(time.RFC3339), event.Type,
			path.Join(object.Kind, object.Namespace, object.Name), event.Reason, max(event.Count, 1), event.Message)
	}
	return text.String(), nil
}

// eventTime returns when an event last occurred, which the two APIs of events have in
// different fields.
func eventTime(event corev1.Event) time.Time {
	return cmp.Or(event.LastTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time)
}
