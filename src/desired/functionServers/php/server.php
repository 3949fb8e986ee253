<?php
// Answers the calls of one function, in PHP's own server.
//
// FUNCTION_HANDLER is a file of the source, which runs for each call as any page of PHP does; after a dot, a function that
// it defines, which is called. A timer is a POST with `x-function-event: timer` and a body {"trigger", "scheduledAt"}.

/** @return array{string, string} the file, and the function or nothing */
function freehold_handler(string $handler): array
{
    $dot = strrpos($handler, '.') ?: strlen($handler);
    $choices = [[$handler, ''], ["$handler.php", ''], [substr($handler, 0, $dot) . '.php', substr($handler, $dot + 1)]];
    foreach ($choices as [$file, $name]) {
        if (is_file(__DIR__ . "/$file")) return [__DIR__ . "/$file", $name];
    }
    fwrite(fopen('php://stderr', 'w'), "The source has no file for the handler \"$handler\".\n");
    exit(1);
}

/** For the log of the function; a caller learns nothing of its code. */
function freehold_failed(): void
{
    $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
    if (((error_get_last()['type'] ?? 0) & $fatal) === 0 || headers_sent()) return;
    while (ob_get_level() > 0) ob_end_clean();
    header_remove();
    http_response_code(500);
    header('content-type: application/json');
    echo '{"error":"The function failed.","code":"FUNCTION_FAILED"}';
}

$freehold = freehold_handler(getenv('FUNCTION_HANDLER') ?: 'index');
// server.sh asks before it serves.
if (PHP_SAPI === 'cli') exit(0);
// Nothing leaves before the end, so that a failure can still be told.
ob_start();
register_shutdown_function('freehold_failed');
if (is_file(__DIR__ . '/vendor/autoload.php')) require_once __DIR__ . '/vendor/autoload.php';
require $freehold[0];
if ($freehold[1] !== '') $freehold[1]();
