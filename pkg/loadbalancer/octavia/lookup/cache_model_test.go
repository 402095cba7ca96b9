package lookup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// stored is a value of the model of a cache, and the time at which it was stored.
type stored struct {
	value int
	at    time.Time
}

// Random calls of a cache return what a map with times would. Steps of the clock end at the limit of an age as often
// as just beyond it.
func TestCache_IsAMapWhichForgets(t *testing.T) {
	t.Parallel()
	const age, keys = 10 * time.Second, 5
	newer := func(a, b int) bool { return a > b }
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		clk := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
		c, model := newCache[int](clk, age), map[string]stored{}
		valid := func(key string) bool {
			kept, ok := model[key]
			return ok && clk.Now().Sub(kept.at) <= age
		}
		for step := range 300 {
			key, value, before := fmt.Sprint(random.IntN(keys)), random.IntN(100), c.changes.Load()
			changes := true
			switch action := random.IntN(9); action {
			case 0:
				clk.SetTime(clk.Now().Add(time.Duration(random.IntN(6)) * time.Second))
				changes = false
			case 1:
				c.keep(key, value)
				model[key] = stored{value, clk.Now()}
			case 2:
				c.keepNewer(key, value, newer)
				if valid(key) && model[key].value > value {
					value = model[key].value
				}
				model[key] = stored{value, clk.Now()}
			case 3:
				c.forget(key)
				delete(model, key)
			case 4:
				if !valid(key) { // an expired value may still exist
					continue
				}
				than := time.Duration(random.IntN(11)) * time.Second
				changes = clk.Now().Sub(model[key].at) >= than
				if got := c.forgetOlder(key, than); got != changes {
					t.Fatalf("seed %d, step %d: forgotten %t of age %s, than %s", seed, step, got, clk.Now().Sub(model[key].at), than)
				}
				if changes {
					delete(model, key)
				}
			case 5:
				changes = false
				got, ok := c.kept(key)
				if ok != valid(key) || ok && got != model[key].value {
					t.Fatalf("seed %d, step %d: kept %d, %t, want %+v", seed, step, got, ok, model[key])
				}
				if _, there := c.entries[key]; there != ok {
					t.Fatalf("seed %d, step %d: an expired entry stays", seed, step)
				}
			case 6:
				changes = !valid(key)
				got, err := c.get(t.Context(), key, func(context.Context, string) (int, error) { return value, nil })
				if changes {
					model[key] = stored{value, clk.Now()}
				}
				if err != nil || got != model[key].value {
					t.Fatalf("seed %d, step %d: got %d, %v, want %+v", seed, step, got, err, model[key])
				}
			case 7:
				changes = false
				asked := []string{key, fmt.Sprint(random.IntN(keys))}[:random.IntN(3)]
				until, all := c.keptUntil(asked)
				want := len(asked) > 0
				var first time.Time
				for _, key := range asked {
					want = want && valid(key)
					if at := model[key].at; first.IsZero() || at.Before(first) {
						first = at
					}
				}
				if all != want || all && !until.Equal(first.Add(age)) {
					t.Fatalf("seed %d, step %d: %q kept until %s, %t, want %t", seed, step, asked, until, all, want)
				}
			case 8:
				asked := []string{key, "absent", fmt.Sprint(random.IntN(keys))}
				changes = false
				for _, key := range asked {
					changes = changes || key != "absent" && !valid(key)
				}
				found, err := c.getMany(t.Context(), asked, func(_ context.Context, missing []string) (map[string]int, error) {
					answer := map[string]int{}
					for _, key := range missing {
						if key != "absent" {
							answer[key] = value
						}
					}
					return answer, nil
				})
				want := map[string]int{}
				for _, key := range asked {
					if key != "absent" && !valid(key) {
						model[key] = stored{value, clk.Now()}
					}
					if key != "absent" {
						want[key] = model[key].value
					}
				}
				if err != nil || !maps.Equal(found, want) {
					t.Fatalf("seed %d, step %d: found %v, %v, want %v", seed, step, found, err, want)
				}
			}
			if got := c.changes.Load() > before; got != changes {
				t.Fatalf("seed %d, step %d: counted as a change: %t, want %t", seed, step, got, changes)
			}
		}
	}
}

func TestCache_KeepsNoErrors(t *testing.T) {
	t.Parallel()
	c := newCache[int](clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)), time.Minute)
	c.keep("known", 1)
	failure := errors.New("no answer")
	for range 2 {
		if value, err := c.get(t.Context(), "key", func(context.Context, string) (int, error) { return 7, failure }); !errors.Is(err, failure) {
			t.Errorf("got %d, error %v", value, err)
		}
		found, err := c.getMany(t.Context(), []string{"known", "key"}, func(_ context.Context, missing []string) (map[string]int, error) {
			if !slices.Equal(missing, []string{"key"}) {
				t.Errorf("read %q", missing)
			}
			return map[string]int{"key": 7}, failure
		})
		if !errors.Is(err, failure) || found != nil {
			t.Errorf("found %v, error %v", found, err)
		}
	}
	if value, ok := c.kept("key"); ok {
		t.Errorf("kept %d of a read that failed", value)
	}
}
