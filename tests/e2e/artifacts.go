package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// artifactsRoot is where failed scenarios leave what explains them; tests run in the
// directory of their package.
const artifactsRoot = "../../out/e2e/failed"

// keepArtifacts writes what explains a failed test into a directory of its own, which it
// returns: the controller's log since its first start, its metrics, and the events of a
// namespace. A part that cannot be had has its error in its place.
func (env *Environment) keepArtifacts(ctx context.Context, test, namespace string) (directory string, err error) {
	directory, err = filepath.Abs(filepath.Join(artifactsRoot, filepath.FromSlash(test)))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	write := func(name, text string, failed error) error {
		if failed != nil {
			text = failed.Error() + "\n"
		}
		return os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644)
	}
	metrics, metricsErr := env.printedMetrics(ctx)
	events, eventsErr := env.printedEvents(ctx, namespace)
	return directory, errors.Join(
		write("controller.log", env.CCM.Log(math.MaxInt), nil),
		write("metrics.txt", metrics, metricsErr),
		write("events.txt", events, eventsErr),
	)
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

// printedEvents returns the events of a namespace in the order of their last occurrence.
func (env *Environment) printedEvents(ctx context.Context, namespace string) (string, error) {
	list, err := env.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	var text strings.Builder
	for _, event := range list.Items {
		fmt.Fprintf(&text, "%s %s %s/%s %s ×%d: %s\n", eventTime(event).UTC().Format(time.RFC3339), event.Type,
			event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, max(event.Count, 1), event.Message)
	}
	return text.String(), nil
}

// eventTime returns when an event last occurred, which the two APIs of events have in
// different fields.
func eventTime(event corev1.Event) time.Time {
	return cmp.Or(event.LastTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time)
}
