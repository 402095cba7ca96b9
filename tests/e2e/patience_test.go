package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counting is a cloud that changes at each look until it has been looked at so often.
func counting(changes int64) (*activity, *atomic.Int64) {
	looks := &atomic.Int64{}
	return &activity{look: func(context.Context) (string, error) {
		return strings.Repeat("x", int(min(looks.Add(1), changes))), nil
	}}, looks
}

// waited returns how long a patient context lasts, and why it ends.
func waited(t *testing.T, a *activity, patience Patience) (time.Duration, error) {
	t.Helper()
	start := time.Now()
	ctx, cancel := a.patient(t.Context(), patience)
	defer cancel()
	<-ctx.Done()
	return time.Since(start), context.Cause(ctx)
}

func TestPatience_EndsWhenCloudStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := counting(5)
		took, why := waited(t, a, Patience{Standstill: time.Minute, Most: time.Hour})
		if took != 5*5*time.Second+time.Minute || !strings.Contains(why.Error(), "nothing in the cloud has changed") {
			t.Errorf("it ended after %s: %v; want a minute after the fifth look", took, why)
		}
	})
}

func TestPatience_EndsAtLastInACloudThatAlwaysChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := counting(1e6)
		if took, why := waited(t, a, Patience{Standstill: time.Minute, Most: 10 * time.Minute}); took != 10*time.Minute || !strings.Contains(why.Error(), "not within 10m0s") {
			t.Errorf("it ended after %s: %v", took, why)
		}
	})
}

// Many load balancers, one after another, each of a POST of 12 to 34 seconds.
func TestPatience_LastsWhileSlowCloudGetsOneRequestDoneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Int64
		a := &activity{look: func(context.Context) (string, error) { return fmt.Sprint(done.Load()), nil }}
		patience := localPatience()
		ctx, cancel := a.patient(t.Context(), patience)
		defer cancel()
		start := time.Now()
		for range 26 { // even at their quickest longer than a standstill
			time.Sleep(12*time.Second + rand.N(22*time.Second)) // of the bubble's clock
			done.Add(1)
		}
		if took := time.Since(start); ctx.Err() != nil || took <= patience.Standstill {
			t.Errorf("after %s, with a standstill of %s: %v", took, patience.Standstill, context.Cause(ctx))
		}
		stopped := time.Now()
		<-ctx.Done()
		if still := time.Since(stopped); still < patience.Standstill-time.Minute || still > patience.Standstill+time.Minute {
			t.Errorf("it ended %s after the last change", still)
		}
	})
}

// There are no looks while the machine stands still, and the cloud stands still with it.
func TestPatience_OutlastsStandstillOfItsOwnMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		a := &activity{look: func(context.Context) (string, error) {
			if looks++; looks == 2 {
				time.Sleep(10 * time.Minute) // of the bubble's clock
			}
			return strings.Repeat("x", looks/3), nil // the third one sees a change
		}}
		ctx, cancel := a.patient(t.Context(), Patience{Standstill: time.Minute, Most: time.Hour})
		defer cancel()
		time.Sleep(11 * time.Minute)
		if ctx.Err() != nil {
			t.Errorf("it ended after %d looks: %v", looks, context.Cause(ctx))
		}
	})
}

func TestPatience_OfOneLengthLooksAtNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, looks := counting(1e6)
		if took, _ := waited(t, a, Patience{Standstill: time.Minute, Most: time.Minute}); took != time.Minute || looks.Load() > 0 {
			t.Errorf("it ended after %s and %d looks", took, looks.Load())
		}
	})
}

func TestPatience_EndsWhenTheCloudDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &activity{look: func(context.Context) (string, error) { return "", errors.New("away") }}
		took, why := waited(t, a, Patience{Standstill: time.Minute, Most: time.Hour})
		if took != time.Minute || !strings.Contains(why.Error(), "without an answer: away") {
			t.Errorf("it ended after %s: %v", took, why)
		}
	})
}

func TestActivity_IsLookedAtOnceForAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, looks := counting(1)
		for range 10 {
			_, cancel := a.patient(t.Context(), Patience{Standstill: time.Minute, Most: time.Hour})
			defer cancel()
		}
		time.Sleep(31 * time.Second) // of the bubble's clock
		if have := looks.Load(); have != 6 {
			t.Errorf("%d looks in half a minute, want one every five seconds", have)
		}
	})
}
