// Serves one function over HTTP. It is built with the source, in a folder of it.
//
// FUNCTION_HANDLER is a file of the source, and after a dot an exported function of it; Handle if nothing follows. That is
// a function of http.ResponseWriter and *http.Request. A timer is a POST with `x-function-event: timer` and a body
// {"trigger", "scheduledAt"}.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sort"
	"strings"
	"syscall"
)

// Set by handlers.go, which generate.go writes.
var handlers map[string]http.HandlerFunc

const failed = `{"error":"The function failed.","code":"FUNCTION_FAILED"}`

func main() {
	call := find(orElse(os.Getenv("FUNCTION_HANDLER"), "handler"))
	listener, err := net.Listen("tcp", ":"+orElse(os.Getenv("PORT"), "8080"))
	if err != nil {
		end(err.Error())
	}
	server := &http.Server{Handler: guarded(call)}
	stopped := make(chan struct{})
	go func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		<-signals
		// Calls that are under way end first.
		_ = server.Shutdown(context.Background())
		close(stopped)
	}()
	fmt.Fprintf(os.Stderr, "The function serves on port %d.\n", listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != http.ErrServerClosed {
		end(err.Error())
	}
	<-stopped
}

func find(name string) http.HandlerFunc {
	for _, key := range []string{name, strings.TrimSuffix(name, ".go") + ".Handle"} {
		if found, isThere := handlers[key]; isThere {
			return found
		}
	}
	known := []string{}
	for key := range handlers {
		known = append(known, key)
	}
	sort.Strings(known)
	end(fmt.Sprintf("The source has no handler %q; it has %s.", name, strings.Join(known, ", ")))
	return nil
}

// For the log of the function; a caller learns nothing of its code.
func guarded(call http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		answer := &watched{ResponseWriter: writer}
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			fmt.Fprintf(os.Stderr, "%v\n%s", failure, debug.Stack())
			if failure == http.ErrAbortHandler || answer.begun {
				panic(http.ErrAbortHandler)
			}
			writer.Header().Set("content-type", "application/json")
			writer.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(writer, failed)
		}()
		call(answer, request)
	})
}

// Knows whether an answer has begun. http.ResponseController finds what else the writer can do.
type watched struct {
	http.ResponseWriter
	begun bool
}

func (w *watched) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(bytes []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(bytes)
}

func (w *watched) Flush() {
	if flusher, can := w.ResponseWriter.(http.Flusher); can {
		w.begun = true
		flusher.Flush()
	}
}

func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func orElse(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

func end(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
