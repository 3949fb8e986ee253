import { firstExistingPath, nothingToBuild, procfileWebCommand, type SourceFiles } from '../files.ts'
import {
  envInstruction,
  installInstructions,
  type Recipe,
  type RecipeInput,
  run,
  runWithVariables,
} from './dockerfile.ts'

type Install = { readonly described: readonly string[]; readonly commands: readonly string[] }

/** Chooses the most exact manifest that exists. */
function installOf(files: SourceFiles): Install {
  const described = (...paths: string[]) => paths.filter((path) => files.paths.has(path))
  if (files.paths.has('uv.lock')) {
    const commands = ['pip install uv', 'uv sync --frozen --no-dev --no-install-project --active']
    return { described: described('uv.lock', 'pyproject.toml'), commands }
  }
  if (files.paths.has('poetry.lock')) {
    const commands = ['pip install poetry', 'poetry install --only main --no-root --no-interaction']
    return { described: described('poetry.lock', 'pyproject.toml'), commands }
  }
  if (files.paths.has('Pipfile.lock')) {
    return { described: described('Pipfile', 'Pipfile.lock'), commands: ['pip install pipenv', 'pipenv sync'] }
  }
  if (files.paths.has('requirements.txt')) {
    return { described: ['requirements.txt'], commands: ['pip install -r requirements.txt'] }
  }
  // Installs only the dependencies, because an app need not be a package that can be built.
  if (/^\[project\]/m.test(files.text('pyproject.toml') ?? '')) {
    return { described: ['pyproject.toml'], commands: ['pip install uv', 'uv pip install -r pyproject.toml'] }
  }
  return { described: [], commands: [] }
}

/** Whether manifests refer to other files or to packages beside them. */
function needsOtherFiles(files: SourceFiles, described: readonly string[]): boolean {
  const names =
    /^\s*(-[rce]\b|--(requirement|constraint|editable)\b|\.|file:)|\b(path|file)\s*=\s*\[?["']|^\[tool\.uv\.workspace\]/m
  return described.some((path) => !path.endsWith('lock') && names.test(files.text(path) ?? ''))
}

/** Installs packages into a virtual environment, which the last stage copies. */
export const pythonRecipe: Recipe = (input) => {
  const { files, buildCommand, mirrors } = input
  const { described, commands } = installOf(files)
  const environment = { VIRTUAL_ENV: '/environment', PATH: '/environment/bin:/usr/local/bin:/usr/bin:/bin' }
  return {
    build: [
      ...envInstruction({
        ...environment,
        PIP_NO_CACHE_DIR: '1',
        PIP_INDEX_URL: mirrors.pypi,
        UV_DEFAULT_INDEX: mirrors.pypi,
      }),
      run('python3 -m venv /environment'),
      ...installInstructions(described, commands, needsOtherFiles(files, described)),
      ...(buildCommand === undefined ? [] : runWithVariables(buildCommand, input)),
    ],
    environment: { ...environment, PYTHONUNBUFFERED: '1' },
    last: ['COPY --from=build /environment /environment', 'COPY --from=build /app ./'],
    start: startCommandOf(input),
  }
}

function startCommandOf({ files, startCommand }: RecipeInput): string | string[] {
  const found = procfileWebCommand(files)
  if (found !== undefined || startCommand !== undefined) return found ?? ''
  const main = firstExistingPath(files, 'main.py', 'app.py', 'server.py')
  if (main !== undefined) return ['python', main]
  throw nothingToBuild(
    'There is no Procfile with a line "web:", and no main.py, app.py or server.py: set startCommand.',
  )
}
