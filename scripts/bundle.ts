import { readFile, rename, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { ownWords } from './commandLine.ts'
import { lastStageOf } from './node/containerfile.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
/** Where the bundle lies in the tree, beside the sources that it was made of. */
export const BUNDLE = 'dist'

/** Packages in CommonJS ask for Node's own modules with `require`, which an ES module lacks. */
const REQUIRE = `import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);`
/** A source map of one line: stacks name lines of our own sources alone, and the map is a fifth of what it would be. */
const UNMAPPED = Buffer.from('{"version":3,"sources":[""],"mappings":"A"}').toString('base64')

/**
 * Makes the program of the image: the operator and its packages as a few files, so that its start reads 30 of them
 * instead of 1,800. Threads, and packages that are looked up by name, are read from `src` and `node_modules` as before.
 *
 * @param root the tree whose `src` is bundled; its `dist` is replaced
 * @throws BuildFailure of esbuild for a source that cannot be bundled
 */
export async function bundle(root = PROJECT): Promise<void> {
  const folder = join(root, BUNDLE)
  const fresh = `${folder}-${process.pid}`
  await build({
    entryPoints: [join(root, 'src', 'main.ts')],
    outdir: fresh,
    absWorkingDir: root,
    nodePaths: [join(PROJECT, 'node_modules')],
    bundle: true,
    // Dynamic imports stay in files of their own.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    banner: { js: REQUIRE },
    // Keep identifiers for stacks and logs, and because packages look things up by class name. Source maps are read
    // when an error is reported, not by Node at startup.
    keepNames: true,
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: 'external',
    sourcesContent: false,
    // Looks for files next to its own, and for native parts that may not be built.
    external: ['ssh2'],
    logLevel: 'warning',
    plugins: [asInPlace(root, fresh), laterFromPackages(root), withoutMaps],
  })
  // Another process may still be reading the previous bundle.
  await rm(folder, { recursive: true, force: true })
  await rename(fresh, folder)
}

/**
 * How the image starts it, as the Containerfile says.
 *
 * @returns arguments of Node, with the path of the bundle in this tree
 */
export async function bundledProgram(root = PROJECT): Promise<string[]> {
  const { config } = lastStageOf(await readFile(join(root, 'Containerfile'), 'utf8'))
  const [, ...words] = config.Entrypoint ?? []
  return [...words.slice(0, -1), join(root, words.at(-1) ?? '')]
}

/** Files next to a source are looked up next to the source, not next to the bundle. */
const asInPlace = (root: string, folder: string): Plugin => ({
  name: 'as-in-place',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (!path.startsWith(join(root, 'src')) || !text.includes('import.meta.')) return undefined
      const url = `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url)`
      const inPlace = {
        url: `${url}.href`,
        dirname: `process.getBuiltinModule('node:url').fileURLToPath(new URL('.', ${url}))`,
      }
      const contents = text.replaceAll(
        /\bimport\.meta\.(url|dirname)\b/g,
        (_, property) => inPlace[property as keyof typeof inPlace],
      )
      return { loader: 'ts', contents }
    }),
})

/**
 * Dynamically imported packages come from `node_modules`: a bundle of a CommonJS package would have only the default
 * export, and none of the names.
 */
const laterFromPackages = (root: string): Plugin => ({
  name: 'later-from-packages',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) =>
      kind === 'dynamic-import' && importer.startsWith(join(root, 'src')) ? { path, external: true } : undefined,
    ),
})

const withoutMaps: Plugin = {
  name: 'without-maps-of-packages',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, async ({ path }) => ({
      loader: 'js',
      contents: `${await readFile(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${UNMAPPED}`,
    })),
}

if (import.meta.main) {
  ownWords('Usage: npm run build\nMakes the program that the image runs, in dist.', {})
  await bundle()
}
