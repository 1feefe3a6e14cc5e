// Parses dashboards as Grafana's own library for Go does, which refuses unknown fields and wrong types.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func parse(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var parsed dashboard.Dashboard
	// Without a fault the library may return an empty list of errors in place of nil.
	if err := parsed.UnmarshalJSONStrict(content); err != nil && err.Error() != "" {
		return err
	}
	if err := parsed.Validate(); err != nil && err.Error() != "" {
		return err
	}
	return nil
}

func main() {
	plugins.RegisterDefaultPlugins()
	failed := false
	for _, file := range os.Args[1:] {
		if err := parse(file); err != nil {
			failed = true
			fmt.Printf("%s: %v\n", file, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}
