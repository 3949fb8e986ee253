import { dotnetProjectOf } from '../detect.ts'
import { firstExistingPath, matchInFile, nothingToBuild, type SourceFiles } from '../files.ts'
import { envInstruction, installInstructions, type Recipe, run, runWithVariables } from './dockerfile.ts'

/** Recipes of languages whose compiler produces one program or archive. */

const existingPaths = (files: SourceFiles, ...paths: readonly string[]) => paths.filter((path) => files.paths.has(path))

export const goRecipe: Recipe = (input) => {
  const { files, buildCommand, mirrors } = input
  return {
    build: [
      ...envInstruction({
        CGO_ENABLED: '0',
        GOPROXY: mirrors.go,
        GONOSUMDB: mirrors.go && '*',
        GOFLAGS: '-buildvcs=false',
      }),
      ...(files.paths.has('go.mod')
        ? installInstructions(existingPaths(files, 'go.mod', 'go.sum'), ['go mod download'], hasModuleBeside(files))
        : ['COPY . .', run('go mod init source && go mod tidy')]),
      ...runWithVariables(buildCommand ?? `go build -trimpath -o /out/server ${mainPackage(files)}`, input),
      run('mkdir -p /out && cp -r /etc/ssl/certs/ca-certificates.crt /out/'),
    ],
    environment: { SSL_CERT_FILE: '/app/ca-certificates.crt' },
    last: ['COPY --from=build /out/ ./'],
    start: ['/app/server'],
  }
}

const hasModuleBeside = (files: SourceFiles) => /=>\s*\.{0,2}\//.test(files.text('go.mod') ?? '')

function mainPackage(files: SourceFiles): string {
  const inRoot = [...files.paths].some((path) => /^[^/]+\.go$/.test(path) && !path.endsWith('_test.go'))
  // The name becomes part of a command, so it must be plain.
  const commands = [...files.paths].filter((path) => /^cmd\/\w[\w.-]*\/$/.test(path))
  if (inRoot || commands.length === 0) return '.'
  if (commands.length === 1) return `./${commands[0]?.slice(0, -1)}`
  throw nothingToBuild('cmd contains several programs: set buildCommand to one that leaves its program at /out/server.')
}

const ARCHIVE = 'grep -v -e "-plain.jar$" -e "-sources.jar$" -e "-javadoc.jar$" -e "/original-" | head -n 1'

export const javaRecipe: Recipe = (input) => {
  const { files, buildCommand, mirrors } = input
  const isMaven = files.paths.has('pom.xml')
  const wrapper = firstExistingPath(files, isMaven ? 'mvnw' : 'gradlew')
  if (!isMaven && wrapper === undefined && buildCommand === undefined)
    throw nothingToBuild('A Gradle build needs its wrapper, gradlew, in the repository.')
  const made = isMaven ? 'target' : 'build/libs'
  const mirror = isMaven && mirrors.maven !== undefined ? settingsFor(mirrors.maven) : []
  const command = buildCommand ?? (isMaven ? 'mvn -B -DskipTests package' : 'sh ./gradlew --no-daemon assemble')
  return {
    build: [
      ...mirror,
      // Modules depend on each other, and no registry has them, so dependencies cannot be fetched ahead.
      ...installInstructions(hasModules(files) ? [] : existingPaths(files, 'pom.xml'), [
        'mvn -B dependency:go-offline',
      ]),
      ...runWithVariables(command, input),
      run(`mkdir -p /out && cp "$(ls ${made}/*.jar | ${ARCHIVE})" /out/app.jar`),
    ],
    last: ['COPY --from=build /out/ ./'],
    start: ['java', '-jar', '/app/app.jar'],
  }
}

const hasModules = (files: SourceFiles) => /<module>/.test(files.text('pom.xml') ?? '')

function settingsFor(url: string): string[] {
  const mirror = `<mirror><id>mirror</id><mirrorOf>*</mirrorOf><url>${url}</url></mirror>`
  const written = run(`echo '<settings><mirrors>${mirror}</mirrors></settings>' > /tmp/settings.xml`)
  return [written, ...envInstruction({ MAVEN_ARGS: '-s /tmp/settings.xml' })]
}

/** Files that affect the restore of a .NET project, beside the project itself. */
const RESTORE_FILES = [
  'packages.lock.json',
  'nuget.config',
  'NuGet.config',
  'NuGet.Config',
  'global.json',
  'Directory.Build.props',
  'Directory.Build.targets',
  'Directory.Packages.props',
]

export const dotnetRecipe: Recipe = (input) => {
  const { files, buildCommand } = input
  const project = dotnetProjectOf(files)
  if (project === undefined)
    throw nothingToBuild('There is no project (*.csproj, *.fsproj) with a plain name in the root: set rootPath.')
  const name = matchInFile(files, project, /<AssemblyName>([\w.-]+)</) ?? project.replace(/\.(cs|fs)proj$/, '')
  const isLocked = files.paths.has('packages.lock.json')
  const isOfSeveral = /<(ProjectReference|Import)\s/.test(files.text(project) ?? '')
  return {
    build: [
      ...installInstructions(
        existingPaths(files, project, ...RESTORE_FILES),
        [`dotnet restore${isLocked ? ' --locked-mode' : ''} ${project}`],
        isOfSeveral,
      ),
      ...runWithVariables(buildCommand ?? `dotnet publish ${project} -c Release --no-restore -o /out`, input),
    ],
    environment: { ASPNETCORE_HTTP_PORTS: String(input.port) },
    last: ['COPY --from=build /out/ ./'],
    start: ['dotnet', `${name}.dll`],
  }
}

export const rustRecipe: Recipe = (input) => {
  const { files, buildCommand } = input
  const name = matchInFile(files, 'Cargo.toml', /^name\s*=\s*"([\w-]+)"/m)
  if (name === undefined && buildCommand === undefined) {
    throw nothingToBuild('Cargo.toml names no package: set buildCommand to one that leaves its program at /out/server.')
  }
  const locked = files.paths.has('Cargo.lock') ? ' --locked' : ''
  const command =
    buildCommand ?? `cargo build --release${locked} && mkdir -p /out && cp target/release/${name} /out/server`
  return {
    build: [
      ...(locked === '' ? ['# There is no Cargo.lock: versions may differ from one build to the next.'] : []),
      'COPY . .',
      ...runWithVariables(command, input),
    ],
    last: ['COPY --from=build /out/ ./'],
    start: ['/app/server'],
  }
}
