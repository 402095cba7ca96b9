package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"
)

// tracingFlag is the name of the flag for the file with a TracingConfiguration.
const tracingFlag = "tracing-config-file"

// startTracing returns the recorder of spans, nil without configuration, and the function that
// sends the last of them.
func (p *process) startTracing() (provider trace.TracerProvider, stop func(context.Context), err error) {
	if p.tracing == "" {
		return nil, func(context.Context) {}, nil
	}
	conf, err := options.ReadTracingConfiguration(p.tracing)
	if err == nil {
		err = tracingapi.ValidateTracingConfiguration(conf, nil, nil).ToAggregate()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--%s=%s: %w", tracingFlag, p.tracing, err)
	}
	made, err := tracing.NewProvider(p.ctx, conf, nil, []resource.Option{resource.WithAttributes(
		attribute.String("service.name", programName), attribute.String("service.version", p.build.version),
	)})
	if err != nil {
		return nil, nil, fmt.Errorf("--%s=%s: %w", tracingFlag, p.tracing, err)
	}
	return made, func(ctx context.Context) {
		if err := made.Shutdown(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The last spans are lost")
		}
	}, nil
}
