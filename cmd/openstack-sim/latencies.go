package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// parseLatencies reads values of --latency: [METHOD] ROUTE=MIN[-MAX].
func parseLatencies(texts []string) ([]faults.Latency, error) {
	var latencies []faults.Latency
	for _, text := range texts {
		latency, err := parseLatency(text)
		if err != nil {
			return nil, fmt.Errorf("--latency %q: %w", text, err)
		}
		latencies = append(latencies, latency)
	}
	return latencies, nil
}

func parseLatency(text string) (faults.Latency, error) {
	match, span, found := strings.Cut(text, "=")
	words := strings.Fields(match)
	if !found || len(words) == 0 || len(words) > 2 || !strings.HasPrefix(words[len(words)-1], "/") {
		return faults.Latency{}, fmt.Errorf("want [METHOD] ROUTE=MIN[-MAX], such as 'GET /network/**=20ms-80ms'")
	}
	latency := faults.Latency{Route: words[len(words)-1]}
	if len(words) == 2 {
		latency.Method = words[0]
	}
	low, high, _ := strings.Cut(span, "-")
	var err error
	if latency.Min, err = time.ParseDuration(low); err != nil {
		return faults.Latency{}, err
	}
	if high != "" {
		if latency.Max, err = time.ParseDuration(high); err != nil {
			return faults.Latency{}, err
		}
	}
	return latency, nil
}

func (s *settings) checkLatencies() error {
	_, err := parseLatencies(s.latencies)
	return err
}
