package main

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// store is the series of a test in memory. It implements storage.Queryable.
type store struct{ series []storage.Series }

// add adds a series that has a value each interval.
func (s *store) add(metric labels.Labels, values []parser.SequenceValue, interval time.Duration) {
	var samples []chunks.Sample
	for i, value := range values {
		if !value.Omitted {
			samples = append(samples, sample{int64(i) * interval.Milliseconds(), value.Value})
		}
	}
	s.series = append(s.series, storage.NewListSeries(metric, samples))
}

// Querier implements storage.Queryable.
func (s *store) Querier(_, _ int64) (storage.Querier, error) { return querier{s}, nil }

type querier struct{ *store }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, series := range q.series {
		if matches(series.Labels(), matchers) {
			found = append(found, series)
		}
	}
	return &seriesSet{left: found}
}

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	at   storage.Series
	left []storage.Series
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.at }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }

func matches(metric labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(metric.Get(m.Name)) })
}

// LabelValues implements storage.Querier; rules do not ask for them.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// sample is a value at a time in milliseconds.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
