PRAGMA checkpoint_fullfsync = ON
