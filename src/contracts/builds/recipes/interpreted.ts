import { procfileWebCommand } from '../files.ts'
import { envInstruction, installInstructions, type Recipe, run, runWithVariables } from './dockerfile.ts'

const COMPOSER = 'docker.io/library/composer:2'

export const phpRecipe: Recipe = (input) => {
  const { files, buildCommand, port } = input
  const described = ['composer.json', 'composer.lock'].filter((path) => files.paths.has(path))
  const folder = files.paths.has('public/') ? 'public' : '.'
  const isOfSeveral = /"type"\s*:\s*"path"/.test(files.text('composer.json') ?? '')
  const install = 'composer install --no-dev --no-scripts --no-interaction --no-autoloader'
  const withComposer = (line: string) => (described.length === 0 ? [] : [line])
  return {
    build: [
      ...withComposer(`COPY --from=${COMPOSER} /usr/bin/composer /usr/bin/composer`),
      ...installInstructions(described, [install], isOfSeveral),
      ...withComposer(run('composer dump-autoload --no-dev --optimize')),
      ...(buildCommand === undefined ? [] : runWithVariables(buildCommand, input)),
    ],
    last: ['COPY --from=build /app ./'],
    start: procfileWebCommand(files) ?? ['php', '-S', `0.0.0.0:${port}`, '-t', folder],
  }
}

export const rubyRecipe: Recipe = (input) => {
  const { files, buildCommand } = input
  const described = ['Gemfile', 'Gemfile.lock', '.ruby-version'].filter((path) => files.paths.has(path))
  const isOfSeveral = /^\s*(gemspec|eval_gemfile)\b|\bpath:|:path\s*=>/m.test(files.text('Gemfile') ?? '')
  const environment = { BUNDLE_PATH: '/bundle', BUNDLE_WITHOUT: 'development:test' }
  return {
    build: [
      ...envInstruction({ ...environment, ...(files.paths.has('Gemfile.lock') && { BUNDLE_FROZEN: '1' }) }),
      ...installInstructions(files.paths.has('Gemfile') ? described : [], ['bundle install'], isOfSeveral),
      ...(buildCommand === undefined ? [] : runWithVariables(buildCommand, input)),
    ],
    environment: { ...environment, RACK_ENV: 'production' },
    last: ['COPY --from=build /bundle /bundle', 'COPY --from=build /app ./'],
    start: procfileWebCommand(files) ?? 'exec bundle exec rackup --host 0.0.0.0 --port $PORT',
  }
}
