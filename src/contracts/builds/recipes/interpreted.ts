import { webProcess } from '../files.ts'
import { copy, type Recipe, run, runWithVariables, variables } from './dockerfile.ts'

const COMPOSER = 'docker.io/library/composer:2'

export const phpRecipe: Recipe = (input) => {
  const { files, buildCommand, port } = input
  const described = ['composer.json', 'composer.lock'].filter((path) => files.paths.has(path))
  const folder = files.paths.has('public/') ? 'public' : '.'
  return {
    build: [
      ...(described.length === 0
        ? ['COPY . .']
        : [
            `COPY --from=${COMPOSER} /usr/bin/composer /usr/bin/composer`,
            '# Installed again only when one of these changes.',
            copy(described),
            run('composer install --no-dev --no-scripts --no-interaction --no-autoloader'),
            'COPY . .',
            run('composer dump-autoload --no-dev --optimize'),
          ]),
      ...(buildCommand === undefined ? [] : runWithVariables(buildCommand, input)),
    ],
    last: ['COPY --from=build /app ./'],
    start: webProcess(files) ?? ['php', '-S', `0.0.0.0:${port}`, '-t', folder],
  }
}

export const rubyRecipe: Recipe = (input) => {
  const { files, buildCommand } = input
  const described = ['Gemfile', 'Gemfile.lock'].filter((path) => files.paths.has(path))
  const environment = { BUNDLE_PATH: '/bundle', BUNDLE_WITHOUT: 'development:test' }
  return {
    build: [
      ...variables({ ...environment, ...(described.length === 2 && { BUNDLE_FROZEN: '1' }) }),
      '# Installed again only when one of these changes.',
      copy(described),
      run('bundle install'),
      'COPY . .',
      ...(buildCommand === undefined ? [] : runWithVariables(buildCommand, input)),
    ],
    environment: { ...environment, RACK_ENV: 'production' },
    last: ['COPY --from=build /bundle /bundle', 'COPY --from=build /app ./'],
    start: webProcess(files) ?? 'exec bundle exec rackup --host 0.0.0.0 --port $PORT',
  }
}
