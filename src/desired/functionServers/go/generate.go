// Writes what main.go looks handlers up in: every exported function of the source that is a handler of net/http. It runs
// in the image that builds, in the folder of the source, before main.go is compiled.
package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const own = "freehold_server"

func main() {
	output, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		fail("go.mod names no module: %v", err)
	}
	module := strings.TrimSpace(string(output))
	imports, handlers := "", ""
	err = filepath.WalkDir(".", func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if folder != "." && isForeign(folder, entry.Name()) {
			return filepath.SkipDir
		}
		found := handlersIn(folder)
		if len(found) == 0 {
			return nil
		}
		alias := fmt.Sprintf("p%d", strings.Count(imports, "\n"))
		imports += fmt.Sprintf("\t%s %q\n", alias, path.Join(module, filepath.ToSlash(folder)))
		for _, handler := range found {
			handlers += fmt.Sprintf("\t%q: %s.%s,\n", handler.key, alias, handler.name)
		}
		return nil
	})
	if err != nil {
		fail("%v", err)
	}
	if handlers == "" {
		fail("The source has no handler: an exported function of http.ResponseWriter and *http.Request, in a package that is not main.")
	}
	text := fmt.Sprintf("package main\n\nimport (\n\t\"net/http\"\n%s)\n\nfunc init() {\n\thandlers = map[string]http.HandlerFunc{\n%s\t}\n}\n", imports, handlers)
	if err := os.WriteFile(filepath.Join(own, "handlers.go"), []byte(text), 0o644); err != nil {
		fail("%v", err)
	}
}

// As the go command sees it: none of these belongs to the packages of the module.
func isForeign(folder, name string) bool {
	if name == own || name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

type handler struct{ key, name string }

func handlersIn(folder string) []handler {
	found, err := build.ImportDir(folder, 0)
	if err != nil || found.Name == "main" {
		return nil
	}
	handlers := []handler{}
	for _, name := range append(found.GoFiles, found.CgoFiles...) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			fail("%v", err)
		}
		for _, declaration := range file.Decls {
			function, isFunction := declaration.(*ast.FuncDecl)
			if isFunction && isHandler(function, nameOfHTTP(file)) {
				place := path.Join(filepath.ToSlash(folder), strings.TrimSuffix(name, ".go"))
				handlers = append(handlers, handler{place + "." + function.Name.Name, function.Name.Name})
			}
		}
	}
	return handlers
}

func nameOfHTTP(file *ast.File) string {
	for _, each := range file.Imports {
		if each.Path.Value == `"net/http"` {
			if each.Name != nil {
				return each.Name.Name
			}
			return "http"
		}
	}
	return ""
}

func isHandler(function *ast.FuncDecl, http string) bool {
	if function.Recv != nil || !function.Name.IsExported() || function.Type.Results != nil {
		return false
	}
	types := []ast.Expr{}
	for _, field := range function.Type.Params.List {
		types = append(types, field.Type)
		for at := 1; at < len(field.Names); at++ {
			types = append(types, field.Type)
		}
	}
	if len(types) != 2 {
		return false
	}
	pointer, isPointer := types[1].(*ast.StarExpr)
	return isPointer && isOf(types[0], http, "ResponseWriter") && isOf(pointer.X, http, "Request")
}

func isOf(expression ast.Expr, http, name string) bool {
	selector, isSelector := expression.(*ast.SelectorExpr)
	if !isSelector || selector.Sel.Name != name {
		return false
	}
	from, isName := selector.X.(*ast.Ident)
	return isName && http != "" && from.Name == http
}

func fail(format string, words ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(1)
}
