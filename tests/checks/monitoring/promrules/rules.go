package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v2"
)

// rule is an alerting rule.
type rule struct {
	Alert               string
	Expr                string
	For                 model.Duration
	Labels, Annotations map[string]string
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// test is one of promtool's.
type test struct {
	Name        string
	Interval    model.Duration
	InputSeries []struct{ Series, Values string } `yaml:"input_series"`
	Alerts      []expectation                     `yaml:"alert_rule_test"`
}

type expectation struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	Alertname string
	Alerts    []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

type testsFile struct {
	RuleFiles []string       `yaml:"rule_files"`
	Interval  model.Duration `yaml:"evaluation_interval"`
	Tests     []test
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// testFile returns what tests expect and rules do not do.
func testFile(rulesPath, testsPath string) error {
	var rules ruleFile
	var tests testsFile
	if err := errors.Join(read(rulesPath, &rules), read(testsPath, &tests)); err != nil {
		return err
	}
	var failed []error
	for _, t := range tests.Tests {
		store, err := load(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		for _, group := range rules.Groups {
			failed = append(failed, t.check(group.Rules, store, time.Duration(tests.Interval)))
		}
	}
	return errors.Join(failed...)
}

// load makes the series of a test.
func load(t test) (*store, error) {
	s := &store{}
	for _, input := range t.InputSeries {
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(input.Series + " " + input.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", input.Series, err)
		}
		s.add(metric, values, time.Duration(t.Interval))
	}
	return s, nil
}

// check evaluates the rules at each interval, and compares what fires when it is expected.
func (t test) check(rules []rule, s *store, interval time.Duration) error {
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{}), LookbackDelta: 5 * time.Minute,
	})
	var last time.Duration
	for _, e := range t.Alerts {
		last = max(last, time.Duration(e.EvalTime))
	}
	var failed []error
	active := make([]map[string]time.Duration, len(rules)) // since when, by labels
	for at := time.Duration(0); at <= last; at += interval {
		firing := map[string][]string{}
		for i, r := range rules {
			since, alerts, err := r.evaluate(engine, s, at, active[i])
			if err != nil {
				return fmt.Errorf("%s, %s: %w", t.Name, r.Alert, err)
			}
			active[i] = since
			firing[r.Alert] = append(firing[r.Alert], alerts...)
		}
		for _, e := range t.Alerts {
			if time.Duration(e.EvalTime) == at {
				failed = append(failed, t.compare(e, firing[e.Alertname]))
			}
		}
	}
	return errors.Join(failed...)
}

func (t test) compare(e expectation, got []string) error {
	var want []string
	for _, alert := range e.Alerts {
		want = append(want, describe(alert.Labels, alert.Annotations))
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("%s: %s after %s\nexpected:\n%s\ngot:\n%s", t.Name, e.Alertname, e.EvalTime, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// evaluate returns since when each alert of a rule is active, and those that fire.
func (r rule) evaluate(engine *promql.Engine, s *store, at time.Duration, before map[string]time.Duration) (map[string]time.Duration, []string, error) {
	now := time.Unix(0, 0).UTC().Add(at)
	ctx := context.Background()
	query := func(ctx context.Context, text string, now time.Time) (promql.Vector, error) {
		q, err := engine.NewInstantQuery(ctx, s, nil, text, now)
		if err != nil {
			return nil, err
		}
		defer q.Close()
		result := q.Exec(ctx)
		if result.Err != nil {
			return nil, result.Err
		}
		vector, err := result.Vector()
		return slices.Clone(vector), err
	}
	found, err := query(ctx, r.Expr, now)
	if err != nil {
		return nil, nil, err
	}
	since := map[string]time.Duration{}
	var firing []string
	for _, sample := range found {
		own := sample.Metric.Map()
		delete(own, labels.MetricName)
		key := labels.FromMap(own).String()
		began, was := before[key]
		if !was {
			began = at
		}
		if since[key] = began; at-began < time.Duration(r.For) {
			continue
		}
		annotations := map[string]string{}
		for name, text := range r.Annotations {
			data := template.AlertTemplateData(own, nil, "", sample)
			const variables = "{{$labels := .Labels}}{{$value := .Value}}"
			expander := template.NewTemplateExpander(ctx, variables+text, r.Alert, data, model.Time(timestamp.FromTime(now)), query, &url.URL{}, nil)
			if annotations[name], err = expander.Expand(); err != nil {
				return nil, nil, err
			}
		}
		maps.Copy(own, r.Labels)
		firing = append(firing, describe(own, annotations))
	}
	return since, firing, nil
}

func describe(labels, annotations map[string]string) string {
	return fmt.Sprintf("%v %v", labels, annotations)
}
