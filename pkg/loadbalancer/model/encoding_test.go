package model

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill sets all that is in a value: texts to ones of their own, lists to one element.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString(string([]byte{byte('a' + *next%26), byte('a' + *next/26%26), byte('a' + *next/676)}))
	case reflect.Int:
		v.SetInt(int64(*next))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), next)
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Kind())
	}
}

// Whoever adds a field to the model learns here that the coder has to name it.
func TestOutline_IsAllButMembersOfListeners(t *testing.T) {
	t.Parallel()
	var full, same LoadBalancer
	for _, lb := range []*LoadBalancer{&full, &same} {
		fill(reflect.ValueOf(lb).Elem(), new(int))
		lb.UpdatedAt = time.Unix(100, 0)
	}
	packed := Pack(&full, nil)
	if diff := cmp.Diff(same, full); diff != "" {
		t.Errorf("the original has changed: %s", diff)
	}
	full.Listeners[0].Pool.Members = nil
	if diff := cmp.Diff(&full, packed.Outline()); diff != "" {
		t.Error(diff)
	}
	reused := Pack(balancerWith(nil, nil, nil), nil).Outline()
	if packed.OutlineInto(reused); !cmp.Equal(&full, reused) {
		t.Error(cmp.Diff(&full, reused))
	}
	if empty := Pack(&LoadBalancer{Tags: []string{}}, nil); !cmp.Equal(empty.Outline(), &LoadBalancer{Tags: []string{}}) {
		t.Errorf("an empty one became %+v", empty.Outline())
	}
}

// What is compared without being encoded differs where its encoding would.
func TestEncodes_KnowsEachFieldThatIsEncoded(t *testing.T) {
	t.Parallel()
	var full, other LoadBalancer
	fill(reflect.ValueOf(&full).Elem(), new(int))
	full.Listeners[0].Pool.Members, full.Status, full.UpdatedAt = nil, Status{}, time.Time{}
	encoded := string(encode([]byte{}, &full))
	if decode(encoded, &other); !encodes(encoded, &full) || !encodes(encoded, &other) {
		t.Error("what was encoded is not taken for the same")
	}
	if !cmp.Equal(full, other) {
		t.Errorf("comparing has changed it: %s", cmp.Diff(full, other))
	}
	if encodes("", &full) || encodes("", &LoadBalancer{}) {
		t.Error("nothing is taken for something")
	}
	changed := 0
	alter(reflect.ValueOf(&other).Elem(), "LoadBalancer", func(field string) {
		changed++
		if differs := string(encode([]byte{}, &other)) != encoded; encodes(encoded, &other) == differs {
			t.Errorf("%s has changed: %v, is taken for the same: %v", field, differs, !differs)
		}
	})
	if changed < 100 {
		t.Errorf("%d changes were tried", changed)
	}
}

// alter changes each field by itself, and each list and what may be missing as a whole too.
func alter(v reflect.Value, name string, altered func(field string)) {
	set := func(to reflect.Value) {
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		v.Set(to)
		altered(name)
		v.Set(before)
	}
	switch v.Kind() {
	case reflect.String:
		set(reflect.ValueOf(v.String() + "x").Convert(v.Type()))
		set(reflect.Zero(v.Type()))
	case reflect.Int, reflect.Bool:
		set(reflect.Zero(v.Type()))
	case reflect.Pointer:
		set(reflect.Zero(v.Type()))
		alter(v.Elem(), name, altered)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		set(reflect.Zero(v.Type()))
		set(v.Slice(0, 0))
		set(reflect.Append(v, v.Index(0)))
		alter(v.Index(0), name+"[0]", altered)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				alter(v.Field(i), name+"."+field.Name, altered)
			}
		}
	default:
		panic(v.Kind())
	}
}

// Not parallel: the allocations of others would be counted.
func TestOutline_TakesNoMemoryWhereItUsesSomeAgain(t *testing.T) {
	var full, reused LoadBalancer
	fill(reflect.ValueOf(&full).Elem(), new(int))
	packed := Pack(&full, nil)
	packed.OutlineInto(&reused)
	if n := testing.AllocsPerRun(10, func() { packed.OutlineInto(&reused) }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkOutline(b *testing.B) {
	var full LoadBalancer
	fill(reflect.ValueOf(&full).Elem(), new(int))
	full.Listeners = append(full.Listeners, full.Listeners[0], full.Listeners[0])
	packed := Pack(&full, nil)
	b.ReportAllocs()
	for b.Loop() {
		packed.Outline()
	}
}

func BenchmarkPack(b *testing.B) {
	var full LoadBalancer
	fill(reflect.ValueOf(&full).Elem(), new(int))
	full.Listeners = append(full.Listeners, full.Listeners[0], full.Listeners[0])
	b.ReportAllocs()
	for b.Loop() {
		Pack(&full, nil)
	}
}

// Not parallel: the allocations of others would be counted.
func TestPack_AllocatesNothingPerText(t *testing.T) {
	packs := func(listeners int) float64 {
		lb := &LoadBalancer{Listeners: make([]Listener, listeners)}
		for i := range lb.Listeners {
			lb.Listeners[i].Name = fmt.Sprintf("listener_%d_kube_service_kubernetes_default_web", i)
			lb.Listeners[i].ID = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		}
		return testing.AllocsPerRun(10, func() { Pack(lb, nil) })
	}
	if few, many := packs(2), packs(12); many > few {
		t.Errorf("%.0f allocations for two listeners, %.0f for twelve", few, many)
	}
}
