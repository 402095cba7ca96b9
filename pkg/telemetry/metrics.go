package telemetry

import "k8s.io/component-base/metrics"

// Gauge returns an unregistered gauge with labels.
func Gauge(name, help string, labels ...string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

// Counter returns an unregistered counter with labels.
func Counter(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

// Histogram returns an unregistered histogram with labels.
func Histogram(name, help string, buckets []float64, labels ...string) *metrics.HistogramVec {
	return metrics.NewHistogramVec(&metrics.HistogramOpts{Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA}, labels)
}

// Register adds metrics to a registry. It returns the first error.
func Register(register func(metrics.Registerable) error, all ...metrics.Registerable) error {
	for _, metric := range all {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}
